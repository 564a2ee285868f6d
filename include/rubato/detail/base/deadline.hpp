// Points in time, also as durations, of which any is converted to the clock's range.
#pragma once

#include <chrono>
#include <concepts>

namespace rubato::detail {

/// Rounded up, saturating.
template<class Rep, class Period>
[[nodiscard]] std::chrono::steady_clock::duration to_clock(std::chrono::duration<Rep, Period> d) {
  using result = std::chrono::steady_clock::duration;
  // Compared as floating point: the duration may be far beyond what the clock can express.
  std::chrono::duration<long double> const wide(d);
  if (wide >= std::chrono::duration<long double>(result::max())) return result::max();
  if (wide <= std::chrono::duration<long double>(result::min())) return result::min();
  return std::chrono::ceil<result>(d);
}

/// now + d, saturating; not before now.
template<class Rep, class Period>
[[nodiscard]] std::chrono::steady_clock::time_point deadline_after(std::chrono::duration<Rep, Period> d) {
  using clock = std::chrono::steady_clock;
  auto const now = clock::now();
  clock::duration const wait = to_clock(d);
  if (wait <= wait.zero()) return now;
  return clock::time_point::max() - now > wait ? now + wait : clock::time_point::max();
}

/// A point in time, or a duration from now on; as a type that can be declared without <chrono>.
struct deadline {
  std::chrono::steady_clock::time_point at;

  deadline(std::chrono::steady_clock::time_point t = {}) noexcept // NOLINT(google-explicit-constructor)
      : at(t) {}
  /// A time point of another precision, or what converts to one.
  template<std::convertible_to<std::chrono::steady_clock::time_point> T>
  deadline(T&& t) // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : at(static_cast<T&&>(t)) {}
  template<class Rep, class Period>
  deadline(std::chrono::duration<Rep, Period> d) // NOLINT(google-explicit-constructor)
      : at(deadline_after(d)) {}
};

} // namespace rubato::detail
