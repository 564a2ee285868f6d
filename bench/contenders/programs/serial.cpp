// Plain calls and loops, and std::sort.
#include "../../harness/programs.hpp"

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
  template<class F, class G>
  static auto join(F f, G g) {
    auto a = f();
    auto b = g();
    return std::pair(a, b);
  }
  template<class F>
  static std::uint64_t sum(std::uint64_t n, F f) {
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i != n; ++i) total += f(i);
    return total;
  }
  template<class F>
  static void for_index(std::size_t n, F f) {
    for (std::size_t i = 0; i != n; ++i) f(i);
  }
  template<class F>
  static void for_rows(std::size_t n, std::size_t /*least*/, F f) {
    for_index(n, f);
  }
  template<class Range, class F>
  static void bridge(Range& range, std::size_t /*least*/, F f) {
    for (auto&& x : range) f(x);
  }
  static void sort(std::span<std::uint64_t> all) { std::ranges::sort(all); }
};

} // namespace

int main(int argc, char** argv) { return bench::drive_programs<serial>(argc, argv); }
