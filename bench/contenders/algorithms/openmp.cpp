// OpenMP's loops with a static schedule, its reductions and scans.
#include "../../harness/algorithms.hpp"

#include <omp.h>

namespace {

// Of what g++ 12 makes of the scan.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

struct openmp {
  static constexpr const char* name = "openmp";
  static std::string version() { return std::to_string(_OPENMP) + ", " + __VERSION__; }

  explicit openmp(unsigned workers) { omp_set_num_threads(static_cast<int>(workers)); }

  template<class F>
  void run(F f) {
    f();
  }
  template<class T>
  static void inclusive_scan(std::span<const T> in, T* out) {
    T sum{};
#pragma omp parallel for simd reduction(inscan, + : sum)
    for (std::size_t i = 0; i < in.size(); ++i) {
      sum += in[i];
#pragma omp scan inclusive(sum)
      out[i] = sum;
    }
  }
  template<class T, class F>
  static void transform(std::span<const T> in, T* out, F f) {
#pragma omp parallel for simd schedule(static)
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = f(in[i]);
  }
  template<class T>
  static T reduce(std::span<const T> in) {
    T sum{};
#pragma omp parallel for simd reduction(+ : sum) schedule(static)
    for (std::size_t i = 0; i < in.size(); ++i) sum += in[i];
    return sum;
  }
  /// First the value, then its first place.
  template<class T>
  static std::size_t min_element(std::span<const T> in) {
    T least = in[0];
#pragma omp parallel for simd reduction(min : least) schedule(static)
    for (std::size_t i = 0; i < in.size(); ++i) least = std::min(least, in[i]);
    return static_cast<std::size_t>(std::find(in.begin(), in.end(), least) - in.begin());
  }
  static void histogram(std::span<const std::uint8_t> in, bench::counts& result) {
    std::uint64_t sums[256] = {};
#pragma omp parallel for reduction(+ : sums) schedule(static)
    for (std::size_t i = 0; i < in.size(); ++i) ++sums[in[i]];
    std::copy(std::begin(sums), std::end(sums), result.begin());
  }
  template<class T, class F>
  static void sweep(std::span<T> all, F f) {
#pragma omp parallel for simd schedule(static)
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = f(all[i]);
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_algorithms<openmp>(argc, argv); }
