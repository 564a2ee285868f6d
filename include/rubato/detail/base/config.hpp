// The library's requirements on a compiler, checked with one-line messages. Every public header includes this
// header first. After such a message the compiler stops at an #include of a file that does not exist:
// otherwise hundreds of errors in the other headers would follow.
#pragma once

#if defined(__clang__)
#if __clang_major__ < 16
#error "rubato: this compiler is too old: Clang 16 or newer is needed"
#include "rubato/detail/base/see_the_error_above"
#endif
#elif !defined(__GNUC__) || __GNUC__ < 12
#error "rubato: this compiler is too old or unknown: GCC 12 or newer, or Clang 16 or newer, is needed"
#include "rubato/detail/base/see_the_error_above"
#endif

#if __cplusplus < 202002L
#error "rubato: C++20 is needed: compile with -std=c++20 or newer"
#include "rubato/detail/base/see_the_error_above"
#endif

#if !defined(__linux__)
#error "rubato: Linux is needed"
#include "rubato/detail/base/see_the_error_above"
#endif

#if !defined(__cpp_exceptions)
#error "rubato: exceptions are needed, since they carry failures of tasks: compile without -fno-exceptions"
#include "rubato/detail/base/see_the_error_above"
#endif

#include <version>
#if !defined(__cpp_lib_jthread)
#if defined(_LIBCPP_VERSION)
#error "rubato: std::stop_token is needed: compile with -fexperimental-library, or use libc++ 20 or newer"
#else
#error "rubato: std::stop_token is needed, which this standard library lacks"
#endif
#include "rubato/detail/base/see_the_error_above"
#endif

#include "rubato/detail/base/std_layout.hpp"
