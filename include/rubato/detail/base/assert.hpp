// Assertions: unless the condition holds, RUBATO_ASSERT(condition, message, values...) prints the message,
// the condition and the values by name, and terminates the program.
//
// On without NDEBUG, under a sanitizer, and in release builds with RUBATO_ASSERTIONS=1 (the CMake option of
// that name defines it for the library and its users). Off, it evaluates nothing.
//
// RUBATO_ASSERT_STEP is the same for a step of a protocol, which a program may pass at each fork: it is off
// in an optimised program without NDEBUG, unless one of the other two turns it on.
#pragma once

#include "rubato/detail/base/api.hpp"
#include <array>
#include <cstddef>
#include <type_traits>

#if !defined(RUBATO_ASSERTIONS)
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RUBATO_ASSERTIONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                                   \
    __has_feature(memory_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define RUBATO_ASSERTIONS 1
#endif
#endif
#endif
#if defined(RUBATO_ASSERTIONS)
#define RUBATO_ASSERTIONS_OF_STEPS RUBATO_ASSERTIONS
#elif defined(NDEBUG)
#define RUBATO_ASSERTIONS 0
#define RUBATO_ASSERTIONS_OF_STEPS 0
#else
#define RUBATO_ASSERTIONS 1
#if defined(__OPTIMIZE__)
#define RUBATO_ASSERTIONS_OF_STEPS 0
#else
#define RUBATO_ASSERTIONS_OF_STEPS 1
#endif
#endif

namespace rubato::detail {

/// An integer, an enumerator, a bool or an address, as an assertion prints it.
struct asserted_value {
  unsigned long long bits = 0;
  bool negative = false;

  template<class T>
    requires std::is_integral_v<T>
  constexpr asserted_value(T v) noexcept // NOLINT(google-explicit-constructor)
      : bits(static_cast<unsigned long long>(v))
      , negative(static_cast<long long>(v) < 0 && static_cast<T>(-1) < static_cast<T>(0)) {}
  template<class T>
    requires std::is_enum_v<T>
  constexpr asserted_value(T v) noexcept // NOLINT(google-explicit-constructor)
      : asserted_value(static_cast<std::underlying_type_t<T>>(v)) {}
  asserted_value(void const* p) noexcept // NOLINT(google-explicit-constructor)
      : bits(static_cast<unsigned long long>(reinterpret_cast<std::size_t>(p))) {}
};

/// The constant part of an assertion.
struct assertion {
  char const* message;
  char const* condition;
  char const* names; ///< of the values, as they were written
  char const* file;
  unsigned line;
};

/// What is called with the text of a failed assertion, before it is written; null: nothing. The explorer of
/// interleavings ends the execution there instead of the program.
extern void (*on_failed_assertion)(char const* text, std::size_t length);

/// Writes it to standard error, in one piece and without allocating, then calls std::terminate().
[[noreturn, gnu::cold]] RUBATO_API void assertion_failed(assertion const& a, asserted_value const* values,
                                                         std::size_t number) noexcept;

/// Prints the error and terminates, in every build: no caller could handle it.
[[noreturn, gnu::cold]] RUBATO_API void misuse(char const* what) noexcept;

template<class... Values>
[[noreturn, gnu::cold, gnu::noinline]] void fail_assertion(assertion const& a, Values... values) noexcept {
  std::array<asserted_value, sizeof...(Values)> const all{asserted_value(values)...};
  assertion_failed(a, all.data(), all.size());
}

} // namespace rubato::detail

#define RUBATO_ASSERTED(condition, message, ...)                                                             \
  ((condition) ? static_cast<void>(0)                                                                        \
               : ::rubato::detail::fail_assertion(::rubato::detail::assertion{                               \
                     message, #condition, #__VA_ARGS__, __FILE__, __LINE__} __VA_OPT__(, ) __VA_ARGS__))
#define RUBATO_NOT_ASSERTED(condition) static_cast<void>(sizeof((condition) ? 1 : 0))

#if RUBATO_ASSERTIONS
#define RUBATO_ASSERT(...) RUBATO_ASSERTED(__VA_ARGS__)
#else
#define RUBATO_ASSERT(condition, ...) RUBATO_NOT_ASSERTED(condition)
#endif
#if RUBATO_ASSERTIONS_OF_STEPS
#define RUBATO_ASSERT_STEP(...) RUBATO_ASSERTED(__VA_ARGS__)
#else
#define RUBATO_ASSERT_STEP(condition, ...) RUBATO_NOT_ASSERTED(condition)
#endif
