// For tests that fork. One file of a program includes it: it defines a function.
#pragma once

#include "support/process.hpp"
#include "support/scale.hpp"

#include <unistd.h>

namespace rubato_test {

/// Raised in the child.
inline bool is_forked_child = false;

/// Makes a child by fork alone, which calls `work`; that ends the process. Returns the child.
template<class F>
int begin_forked_child(F&& work) {
  int const child = ::fork();
  if (child == 0) {
    is_forked_child = true;
    kill_this_process_if_it_hangs();
    work();
  }
  return child;
}

} // namespace rubato_test

#if defined(__SANITIZE_ADDRESS__) || RUBATO_TEST_HAS_FEATURE(address_sanitizer)
// What only stacks and thread-local objects of threads that do not exist in the child pointed to cannot be
// freed there: not a leak of the library.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return rubato_test::is_forked_child ? 1 : 0; }
#endif
