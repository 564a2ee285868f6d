// The parallel mode of GNU's standard library: what -D_GLIBCXX_PARALLEL makes of std::sort and others, on
// OpenMP.
#include "../../harness/algorithms.hpp"

#include <omp.h>
#include <parallel/algorithm>
#include <parallel/numeric>

namespace {

struct gnu_parallel {
  static constexpr const char* name = "gnu-parallel";
  static std::string version() { return __VERSION__; }

  explicit gnu_parallel(unsigned workers) { omp_set_num_threads(static_cast<int>(workers)); }

  template<class F>
  void run(F f) {
    f();
  }
  template<class T, class... Less>
  static void sort(T* first, T* last, Less... less) {
    __gnu_parallel::sort(first, last, less...);
  }
  template<class T, class... Less>
  static void stable_sort(T* first, T* last, Less... less) {
    __gnu_parallel::stable_sort(first, last, less...);
  }
  template<class T, class F>
  static std::size_t partition(std::span<T> all, F f) {
    return static_cast<std::size_t>(__gnu_parallel::partition(all.data(), all.data() + all.size(), f) -
                                    all.data());
  }
  template<class T>
  static void inclusive_scan(std::span<const T> in, T* out) {
    __gnu_parallel::partial_sum(in.data(), in.data() + in.size(), out);
  }
  template<class T, class F>
  static void transform(std::span<const T> in, T* out, F f) {
    __gnu_parallel::transform(in.data(), in.data() + in.size(), out, f);
  }
  template<class T>
  static T reduce(std::span<const T> in) {
    return __gnu_parallel::accumulate(in.data(), in.data() + in.size(), T{});
  }
  template<class T>
  static std::size_t min_element(std::span<const T> in) {
    return static_cast<std::size_t>(__gnu_parallel::min_element(in.data(), in.data() + in.size()) -
                                    in.data());
  }
  template<class T, class F>
  static std::size_t find_if(std::span<const T> in, F f) {
    return static_cast<std::size_t>(__gnu_parallel::find_if(in.data(), in.data() + in.size(), f) - in.data());
  }
  template<class T, class F>
  static void sweep(std::span<T> all, F f) {
    __gnu_parallel::for_each(all.data(), all.data() + all.size(), [f](T& x) { x = f(x); });
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_algorithms<gnu_parallel>(argc, argv); }
