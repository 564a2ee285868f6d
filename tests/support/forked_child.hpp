// For tests whose forked child ends as programs do. One file of a program includes it: it defines a function.
#pragma once

#include "support/scale.hpp"

namespace rubato_test {

/// Raised in the child.
inline bool is_forked_child = false;

} // namespace rubato_test

#if defined(__SANITIZE_ADDRESS__) || RUBATO_TEST_HAS_FEATURE(address_sanitizer)
// What only stacks and thread-local objects of threads that do not exist in the child pointed to cannot be
// freed there: not a leak of the library.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return rubato_test::is_forked_child ? 1 : 0; }
#endif
