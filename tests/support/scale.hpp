// How much a stress test does: full size in plain builds, less under the sanitizers, more on demand.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>

namespace rubato_test {

#if defined(__has_feature)
#define RUBATO_TEST_HAS_FEATURE(x) __has_feature(x)
#else
#define RUBATO_TEST_HAS_FEATURE(x) 0
#endif

#if defined(__SANITIZE_THREAD__) || RUBATO_TEST_HAS_FEATURE(thread_sanitizer)
inline constexpr bool under_tsan = true;
#else
inline constexpr bool under_tsan = false;
#endif

#if defined(__SANITIZE_ADDRESS__) || RUBATO_TEST_HAS_FEATURE(address_sanitizer)
inline constexpr bool under_asan = true;
#else
inline constexpr bool under_asan = false;
#endif

/// UndefinedBehaviorSanitizer makes a pipe to look at memory: its checks need free descriptors.
inline constexpr bool under_ubsan = RUBATO_TEST_HAS_FEATURE(undefined_behavior_sanitizer);

/// RUBATO_TEST_SCALE multiplies the rounds of every stress test; 1 if unset or not a positive number.
inline double test_scale() {
  static double const scale = [] {
    char const* text = std::getenv("RUBATO_TEST_SCALE");
    double const value = text ? std::strtod(text, nullptr) : 1.0;
    return value > 0 ? value : 1.0;
  }();
  return scale;
}

/// A number of items that a sanitizer may cut down but the scale leaves alone.
constexpr std::size_t sized(std::size_t items) {
  return std::max<std::size_t>(1, items / (under_tsan ? 10 : under_asan ? 3 : 1));
}

/// A number of rounds: never 0.
inline unsigned scaled(std::size_t rounds) {
  return std::max(1U, static_cast<unsigned>(static_cast<double>(sized(rounds)) * test_scale()));
}

} // namespace rubato_test
