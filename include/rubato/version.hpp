// Which Rubato this is: of the headers, and of the library that runs.
//
//   #include <rubato/version.hpp>
//
//   #include <cstdio>
//
//   #if RUBATO_VERSION < 100
//   #error "Rubato 0.1 or newer is needed"
//   #endif
//
//   int main() {
//     std::printf("%d\n", int(rubato::version() >= rubato::header_version)); // -> 1
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include <compare>

/// Changes when programs may have to change.
#define RUBATO_VERSION_MAJOR 0
/// Changes with each release that adds something. While the major version is 0, programs may have to change.
#define RUBATO_VERSION_MINOR 1
/// Changes with each release that only mends.
#define RUBATO_VERSION_PATCH 0
/// For the preprocessor: 10,000 times the major version, plus 100 times the minor version, plus the patch
/// version.
#define RUBATO_VERSION (RUBATO_VERSION_MAJOR * 10000 + RUBATO_VERSION_MINOR * 100 + RUBATO_VERSION_PATCH)

namespace rubato {

/// A version, ordered as Semantic Versioning orders them.
///
///   static_assert(rubato::version_number{0, 9, 2} < rubato::version_number{1, 0, 0});
struct version_number {
  unsigned major; ///< 0: a minor version, too, may break programs
  unsigned minor; ///< within the major version
  unsigned patch; ///< within the minor version

  friend constexpr auto operator<=>(version_number const&, version_number const&) noexcept = default;
};

/// The version of the headers that a file was compiled with.
inline constexpr version_number header_version{RUBATO_VERSION_MAJOR, RUBATO_VERSION_MINOR,
                                               RUBATO_VERSION_PATCH};
/// The version of the library that runs: with a shared library, not the one of the headers but one that is
/// compatible with them. From any thread.
[[nodiscard]] RUBATO_API version_number version() noexcept;

} // namespace rubato
