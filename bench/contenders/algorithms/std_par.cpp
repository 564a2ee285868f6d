// std::execution::par: the standard library's algorithms on oneTBB, in an arena that the caller enters, or
// with the target rubato::pstl on Rubato, in a pool that the caller enters.
#include "../../harness/algorithms.hpp"

#include <execution>
#include <numeric>

#if defined(BENCH_ON_RUBATO)
#include <rubato/pool.hpp>
#else
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#endif

namespace {

constexpr auto& par = std::execution::par;

#if defined(BENCH_ON_RUBATO)
class place {
  rubato::pool pool_;

public:
  static constexpr const char* name = "std-par-rubato";
  explicit place(unsigned workers)
      : pool_(workers) {}
  template<class F>
  void run(F f) {
    pool_.run(f);
  }
};
#else
class place {
  tbb::global_control threads_;
  tbb::task_arena arena_;

public:
  static constexpr const char* name = "std-par";
  explicit place(unsigned workers)
      : threads_(tbb::global_control::max_allowed_parallelism, workers)
      , arena_(static_cast<int>(workers)) {}
  template<class F>
  void run(F f) {
    arena_.execute(f);
  }
};
#endif

class std_par : public place {
public:
  using place::place;
  static std::string version() { return __VERSION__; }

  template<class T, class... Less>
  static void sort(T* first, T* last, Less... less) {
    std::sort(par, first, last, less...);
  }
  template<class T, class... Less>
  static void stable_sort(T* first, T* last, Less... less) {
    std::stable_sort(par, first, last, less...);
  }
  template<class T, class F>
  static std::size_t copy_if(std::span<const T> in, T* out, F f) {
    return static_cast<std::size_t>(std::copy_if(par, in.begin(), in.end(), out, f) - out);
  }
  template<class T, class F>
  static std::size_t partition(std::span<T> all, F f) {
    return static_cast<std::size_t>(std::partition(par, all.begin(), all.end(), f) - all.begin());
  }
  template<class T>
  static void inclusive_scan(std::span<const T> in, T* out) {
    std::inclusive_scan(par, in.begin(), in.end(), out);
  }
  template<class T, class F>
  static void transform(std::span<const T> in, T* out, F f) {
    std::transform(par, in.begin(), in.end(), out, f);
  }
  template<class T>
  static T reduce(std::span<const T> in) {
    return std::reduce(par, in.begin(), in.end());
  }
  template<class T>
  static std::size_t min_element(std::span<const T> in) {
    return static_cast<std::size_t>(std::min_element(par, in.begin(), in.end()) - in.begin());
  }
  template<class T, class F>
  static std::size_t find_if(std::span<const T> in, F f) {
    return static_cast<std::size_t>(std::find_if(par, in.begin(), in.end(), f) - in.begin());
  }
  template<class T, class F>
  static void sweep(std::span<T> all, F f) {
    std::for_each(par, all.begin(), all.end(), [f](T& x) { x = f(x); });
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_algorithms<std_par>(argc, argv); }
