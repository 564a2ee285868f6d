// Plain calls, none inlined into its caller: what the work itself costs.
#include "../harness/driver.hpp"

namespace {

struct serial {
#ifdef __clang__
  static constexpr const char* name = "serial-clang";
#else
  static constexpr const char* name = "serial";
#endif
  static constexpr bool has_threads = false;
  static std::string version() { return __VERSION__; }

  explicit serial(unsigned) {}

  template<class F>
  void run(F f) {
    f();
  }
  /// keep: without it a compiler turns the second call into a loop, and half of the calls are gone.
  template<class F, class G>
  static auto join(F f, G g) {
    const auto a = bench::keep(f());
    const auto b = bench::keep(g());
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
  static void scope(std::size_t n, F f) {
    for (std::size_t i = 0; i != n; ++i) f(i);
  }
  template<class F, class G>
  static void scope_of_two(F f, G g) {
    f();
    g();
  }
  /// The steps of busy() that take 10 ns here, from the difference of two lengths: the loop around costs
  /// something too.
  std::optional<bench::measurement> own_scenario(std::string_view scenario, std::uint64_t items) {
    if (scenario != "calibrate") return std::nullopt;
    const auto per_item = [items](std::uint64_t steps) {
      double best = 1e9;
      for (int i = 0; i != 5; ++i)
        best = std::min(best, bench::timed(static_cast<double>(items), [=] {
                                for (std::uint64_t k = 0; k != items; ++k) bench::busy(bench::keep(steps));
                                return std::uint64_t{0};
                              }).cpu_ns);
      return best;
    };
    const double few = per_item(4), many = per_item(24);
    const double step = (many - few) / 20;
    return bench::measurement{step, step, 0, {{"steps", std::max(1.0, 4 + (10 - few) / step)}}};
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive<serial>(argc, argv); }
