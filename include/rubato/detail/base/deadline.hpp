// Durations and points in time as parameters: of any unit and precision, converted to the clock's range.
#pragma once

#include "rubato/detail/base/refused.hpp"

#include <chrono>
#include <concepts>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Rounded up, saturating. What is not a number is the largest.
template<class Rep, class Period>
[[nodiscard]] std::chrono::steady_clock::duration to_clock(std::chrono::duration<Rep, Period> d) {
  using result = std::chrono::steady_clock::duration;
  // Compared as floating point: the duration may be far beyond what the clock can express.
  std::chrono::duration<long double> const wide(d);
  if (wide <= std::chrono::duration<long double>(result::min())) return result::min();
  if (!(wide < std::chrono::duration<long double>(result::max()))) return result::max();
  // First the seconds: a period such as 1/60 s is multiplied before it is divided.
  auto const whole = std::chrono::duration_cast<std::chrono::seconds>(d);
  return whole + std::chrono::ceil<result>(d - whole);
}

template<class T>
inline constexpr bool is_duration = false;
template<class Rep, class Period>
inline constexpr bool is_duration<std::chrono::duration<Rep, Period>> = true;
template<class T>
inline constexpr bool is_time_point = false;
template<class Clock, class D>
inline constexpr bool is_time_point<std::chrono::time_point<Clock, D>> = true;

/// Says in one sentence why a T is no duration, or else no point in time.
template<class T>
consteval void explain_time() {
  static_assert(!std::is_arithmetic_v<T>,
                "rubato: a number stands where a duration is expected: write 5ms, after "
                "using namespace std::chrono_literals, or "
                "std::chrono::milliseconds(5)");
  static_assert(!is_time_point<T>, "rubato: a point in time must be one of std::chrono::steady_clock, and "
                                   "cannot stand where a duration is expected");
  static_assert(std::is_arithmetic_v<T> || is_time_point<T>,
                "rubato: a std::chrono::duration is expected here, or, where the parameter is a deadline, a "
                "time point of std::chrono::steady_clock");
}

/// A duration of any unit, in that of the clock, saturating.
struct delay {
  std::chrono::steady_clock::duration in_clock{};

  template<class T>
    requires(!std::same_as<std::remove_cvref_t<T>, delay>)
  delay(T&& d) { // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
    using given = std::remove_cvref_t<T>;
    if constexpr (is_duration<given>)
      in_clock = to_clock(d);
    else
      explain_time<given>();
  }
};

/// now + d, saturating; not before now.
[[nodiscard]] inline std::chrono::steady_clock::time_point deadline_after(delay d) {
  using clock = std::chrono::steady_clock;
  auto const now = clock::now();
  if (d.in_clock <= d.in_clock.zero()) return now;
  return clock::time_point::max() - now > d.in_clock ? now + d.in_clock : clock::time_point::max();
}

/// A point in time, also of another precision, or a duration from now on; as a type that can be declared
/// without <chrono>.
struct deadline {
  std::chrono::steady_clock::time_point at{};

  deadline(std::chrono::steady_clock::time_point t = {}) noexcept // NOLINT(google-explicit-constructor)
      : at(t) {}
  template<class T>
    requires(!std::same_as<std::remove_cvref_t<T>, deadline>)
  deadline(T&& t) { // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
    using given = std::remove_cvref_t<T>;
    if constexpr (is_duration<given>)
      at = deadline_after(t);
    else if constexpr (std::convertible_to<T, std::chrono::steady_clock::time_point> && is_time_point<given>)
      at = std::chrono::steady_clock::time_point(
          to_clock(t.time_since_epoch())); // hours::max() fit in no clock
    else if constexpr (std::convertible_to<T, std::chrono::steady_clock::time_point>)
      at = std::forward<T>(t);
    else
      explain_time<given>();
  }
};

} // namespace rubato::detail
