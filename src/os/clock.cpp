#include "os/clock.hpp"

#include <algorithm>
#include <limits>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace rubato::os {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

/// Whether the counter ticks at one rate for ever: whatever the core's frequency, and while it sleeps.
bool counter_is_steady() noexcept {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x8000'0007, &a, &b, &c, &d) != 0 && (d & 1U << 8) != 0; // "invariant TSC"
#elif defined(__aarch64__)
  return true; // by architecture
#else
  return false;
#endif
}

detail::tick_source source() noexcept {
  auto known = detail::source.load(std::memory_order_relaxed);
  if (known == detail::tick_source::unknown) {
    known = counter_is_steady() ? detail::tick_source::counter : detail::tick_source::steady_clock;
    detail::source.store(known, std::memory_order_relaxed);
  }
  return known;
}

/// Both clocks at one moment: of several readings the one least disturbed.
struct moment {
  ticks count{};
  clock::time_point time{};

  moment() noexcept {
    ticks narrowest = std::numeric_limits<ticks>::max();
    for (int i = 0; i < 8; ++i) {
      auto const before = detail::read_counter();
      auto const between = clock::now();
      auto const width = detail::read_counter() - before;
      if (width < narrowest) {
        narrowest = width;
        count = before + width / 2;
        time = between;
      }
    }
  }
};

} // namespace

ticks detail::slow_now() noexcept {
  if (os::source() == tick_source::counter) return read_counter();
  return nanoseconds(clock::now().time_since_epoch()).count();
}

// Against steady_clock for 20 us. Each reading is good to some 20 ns, so the rate is good to a few parts in
// 1,000. Measuring from the program's start until now would be more exact, but nonsense if the machine was
// suspended in between, since then one clock goes on and the other does not.
double detail::measure_ns_per_tick() noexcept {
  if (os::source() == tick_source::steady_clock) return 1;
  moment const first;
  while (clock::now() - first.time < std::chrono::microseconds(20)) {
  }
  moment const last;
  auto const passed = static_cast<double>(last.count - first.count);
  return static_cast<double>(nanoseconds(last.time - first.time).count()) / std::max(passed, 1.0);
}

double detail::ns_per_tick() noexcept {
  static double const rate = measure_ns_per_tick();
  return rate;
}

} // namespace rubato::os
