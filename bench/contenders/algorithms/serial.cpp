// The standard library on one thread.
#include "../../harness/algorithms.hpp"

#include <numeric>

namespace {

struct serial {
#ifdef __clang__
  static constexpr const char* name = "serial-clang";
#else
  static constexpr const char* name = "serial";
#endif
  static std::string version() { return __VERSION__; }

  explicit serial(unsigned) {}

  template<class F>
  void run(F f) {
    f();
  }
  template<class T, class... Less>
  static void sort(T* first, T* last, Less... less) {
    std::sort(first, last, less...);
  }
  template<class T, class... Less>
  static void stable_sort(T* first, T* last, Less... less) {
    std::stable_sort(first, last, less...);
  }
  template<class T, class F>
  static std::size_t copy_if(std::span<const T> in, T* out, F f) {
    return static_cast<std::size_t>(std::copy_if(in.begin(), in.end(), out, f) - out);
  }
  template<class T, class F>
  static std::vector<T> filter(std::span<const T> in, F f) {
    std::vector<T> out;
    std::copy_if(in.begin(), in.end(), std::back_inserter(out), f);
    return out;
  }
  template<class T, class F>
  static std::size_t partition(std::span<T> all, F f) {
    return static_cast<std::size_t>(std::partition(all.begin(), all.end(), f) - all.begin());
  }
  template<class T>
  static void inclusive_scan(std::span<const T> in, T* out) {
    std::inclusive_scan(in.begin(), in.end(), out);
  }
  template<class T, class F>
  static void transform(std::span<const T> in, T* out, F f) {
    std::transform(in.begin(), in.end(), out, f);
  }
  template<class T, class F>
  static std::vector<T> map(std::span<const T> in, F f) {
    std::vector<T> out(in.size()); // quicker than push_back() into reserved memory
    std::transform(in.begin(), in.end(), out.begin(), f);
    return out;
  }
  template<class T>
  static T reduce(std::span<const T> in) {
    return std::reduce(in.begin(), in.end());
  }
  template<class T>
  static std::size_t min_element(std::span<const T> in) {
    return static_cast<std::size_t>(std::min_element(in.begin(), in.end()) - in.begin());
  }
  template<class T, class F>
  static std::size_t find_if(std::span<const T> in, F f) {
    return static_cast<std::size_t>(std::find_if(in.begin(), in.end(), f) - in.begin());
  }
  static void histogram(std::span<const std::uint8_t> in, bench::counts& result) {
    result = {};
    for (const auto b : in) ++result[b];
  }
  template<class T, class F>
  static void sweep(std::span<T> all, F f) {
    for (T& x : all) x = f(x);
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_algorithms<serial>(argc, argv); }
