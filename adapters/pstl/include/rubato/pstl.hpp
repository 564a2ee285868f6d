// std::execution::par on Rubato: the parallel algorithms of libstdc++, without TBB.
//
//   #include <rubato/pstl.hpp>
//
//   #include <algorithm>
//   #include <cstdio>
//   #include <execution>
//   #include <vector>
//
//   int main() {
//     std::vector<int> v{3, 1, 2};
//     std::sort(std::execution::par, v.begin(), v.end());
//     std::printf("%d %d %d\n", v[0], v[1], v[2]); // -> 1 2 3
//   }
//
// libstdc++ takes its parallel loops from a header that it includes with <execution>. This header defines
// that header's guard, and what libstdc++ expects of it. So it comes before <execution>, and all translation
// units of a program have it, or none: CMake's target rubato::pstl puts it in front of each. The loops run on
// the caller's own pool, else on the global one. docs/standard-algorithms.md
#pragma once

#include "rubato/detail/base/config.hpp"

#include <version>

#if !defined(__GLIBCXX__)
#error                                                                                                       \
    "rubato: rubato/pstl.hpp needs libstdc++, whose parallel algorithms take another backend; libc++ has no place for one"
#include "rubato/detail/base/see_the_error_above"
#endif

#if defined(_PSTL_PARALLEL_BACKEND_H)
#error                                                                                                       \
    "rubato: <execution> came before rubato/pstl.hpp: include rubato/pstl.hpp first, or link the CMake target rubato::pstl"
#include "rubato/detail/base/see_the_error_above"
#endif

// With the configuration of libstdc++ comes the version of its parallel algorithms, if it has them.
#if !defined(_PSTL_VERSION) || _PSTL_VERSION != 12000
#error                                                                                                       \
    "rubato: rubato/pstl.hpp knows the parallel algorithms of libstdc++ 12 (_PSTL_VERSION 12000), and not these"
#include "rubato/detail/base/see_the_error_above"
#endif

// A standard header that came earlier has chosen by whether TBB is installed.
#undef _GLIBCXX_USE_TBB_PAR_BACKEND
#define _GLIBCXX_USE_TBB_PAR_BACKEND 1
#undef _PSTL_PAR_BACKEND_SERIAL
#undef _PSTL_PAR_BACKEND_TBB
#define _PSTL_PAR_BACKEND_TBB
#define _PSTL_PARALLEL_BACKEND_TBB_H

#include "rubato/pstl/backend.hpp"
