// OpenMP tasks: `task` and `taskwait`, `taskloop` for loops, inside one parallel region.
#include "../harness/driver.hpp"

#include <array>

namespace {

class openmp {
  int workers_;

public:
  static constexpr const char* name = "openmp";
  static constexpr bool has_threads = true;
  static std::string version() { return std::to_string(_OPENMP) + ", " + __VERSION__; }

  explicit openmp(unsigned workers)
      : workers_(static_cast<int>(workers)) {}

  template<class F>
  void run(F f) {
#pragma omp parallel num_threads(workers_)
#pragma omp single
    f();
  }
  template<class F, class G>
  static auto join(F f, G g) {
    std::pair<decltype(f()), decltype(g())> both;
#pragma omp task shared(both, g)
    both.second = g();
    both.first = f();
#pragma omp taskwait
    return both;
  }
  template<class F>
  static std::uint64_t sum(std::uint64_t n, F f) {
    if (n == 0) return 0;
    std::array<std::uint64_t, 16> parts{};
    for (std::uint64_t i = 1; i != n; ++i) {
#pragma omp task shared(parts, f) firstprivate(i)
      parts[i] = f(i);
    }
    parts[0] = f(0);
#pragma omp taskwait
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i != n; ++i) total += parts[i];
    return total;
  }
  template<class F>
  static void for_index(std::size_t n, F f) {
#pragma omp taskloop shared(f)
    for (std::size_t i = 0; i < n; ++i) f(i);
  }
  template<class F>
  static void scope(std::size_t n, F f) {
    for (std::size_t i = 0; i != n; ++i) {
#pragma omp task shared(f) firstprivate(i)
      f(i);
    }
#pragma omp taskwait
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive<openmp>(argc, argv); }
