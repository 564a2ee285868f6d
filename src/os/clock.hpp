// The cheapest monotonic clock there is: a counter of the processor where it ticks at a constant rate, else
// steady_clock. For durations, not for deadlines: its zero and its rate are its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace rubato::os {

/// A point or a distance on the clock. Signed, so that differences are; two CPUs may disagree by a few ticks.
using ticks = std::int64_t;

namespace detail {

enum class tick_source : unsigned char { unknown, counter, steady_clock };

/// Set by the first thread that asks. relaxed, everywhere: every thread finds out the same.
inline constinit std::atomic<tick_source> source{tick_source::unknown};

/// now() where the counter is not known to be usable: finds out, or reads steady_clock.
ticks slow_now() noexcept;
/// Nanoseconds per tick, as measured at the first call.
double ns_per_tick() noexcept;
/// Measures it, which takes 20 us.
double measure_ns_per_tick() noexcept;

inline ticks read_counter() noexcept {
#if defined(__x86_64__)
  return static_cast<ticks>(__rdtsc());
#elif defined(__aarch64__)
  ticks t;
  asm volatile("mrs %0, cntvct_el0" : "=r"(t)); // NOLINT(hicpp-no-assembler)
  return t;
#else
  return 0; // never asked: the source is steady_clock
#endif
}

} // namespace detail

/// Reads the clock. Not ordered with what stands around it: the processor may read it some instructions
/// early.
inline ticks now() noexcept {
  if (detail::source.load(std::memory_order_relaxed) == detail::tick_source::counter) [[likely]]
    return detail::read_counter();
  return detail::slow_now();
}

namespace detail {
/// To a whole number; a value that is too large becomes the largest.
constexpr std::int64_t saturate(double x) noexcept {
  constexpr double bound = 9.2e18; // a little inside the range
  return x >= bound    ? std::numeric_limits<std::int64_t>::max()
         : x <= -bound ? std::numeric_limits<std::int64_t>::min()
                       : static_cast<std::int64_t>(x);
}
} // namespace detail

/// The length of `t` ticks, saturating.
inline std::chrono::nanoseconds to_ns(ticks t) noexcept {
  return std::chrono::nanoseconds(detail::saturate(static_cast<double>(t) * detail::ns_per_tick()));
}

/// The number of ticks in `d`, saturating.
inline ticks ticks_from(std::chrono::nanoseconds d) noexcept {
  return detail::saturate(static_cast<double>(d.count()) / detail::ns_per_tick());
}

} // namespace rubato::os
