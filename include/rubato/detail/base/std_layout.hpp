// A program does not link with the library if types of std have another layout there: if it uses another
// standard library, or a macro that changes its types. Each such choice has a function of its own, to which
// every file that includes a public header refers, and the library defines the one of its own choice.
#pragma once

#include "rubato/detail/base/api.hpp"
#include <version>

#if defined(_LIBCPP_VERSION)
#define RUBATO_STD_LAYOUT library_compiled_for_libcxx
#elif defined(_GLIBCXX_DEBUG) && _GLIBCXX_USE_CXX11_ABI
#define RUBATO_STD_LAYOUT library_compiled_with_GLIBCXX_DEBUG
#elif defined(_GLIBCXX_DEBUG)
#define RUBATO_STD_LAYOUT library_compiled_with_GLIBCXX_DEBUG_and_GLIBCXX_USE_CXX11_ABI_0
#elif _GLIBCXX_USE_CXX11_ABI
#define RUBATO_STD_LAYOUT library_compiled_for_libstdcxx
#else
#define RUBATO_STD_LAYOUT library_compiled_with_GLIBCXX_USE_CXX11_ABI_0
#endif

namespace rubato::detail {

RUBATO_API void RUBATO_STD_LAYOUT() noexcept;

#define RUBATO_JOINED_2(a, b) a##b
#define RUBATO_JOINED(a, b) RUBATO_JOINED_2(a, b)
/// Once in a program or shared library, for each layout in use. The linker keeps it although nothing reads
/// it.
[[gnu::used, gnu::retain, gnu::visibility("hidden")]] inline constexpr auto
    RUBATO_JOINED(needs_, RUBATO_STD_LAYOUT) = &RUBATO_STD_LAYOUT;
#undef RUBATO_JOINED
#undef RUBATO_JOINED_2

} // namespace rubato::detail
