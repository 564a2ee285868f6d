// Tests that need a process of their own: because it must die, exit, fork, or have no threads but those of
// one pool.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

extern "C" void __lsan_disable() __attribute__((weak)); // NOLINT(bugprone-reserved-identifier)

namespace rubato_test {

/// A task that calls exit() never returns and so is never freed, which LeakSanitizer may take for a leak.
inline void look_for_no_leaks() {
  if (&__lsan_disable != nullptr) __lsan_disable();
}

/// Ends the process with a signal should it hang, so that nothing stays behind. It survives exec, not fork.
inline void kill_this_process_if_it_hangs() { ::alarm(100); }

/// Base of tests that use EXPECT_EXIT with a child that starts from nothing: gtest runs this program once
/// more.
class fresh_process : public testing::Test {
protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// The last words of a child: 0 and its message if all went well.
[[noreturn]] inline void leave(bool well, char const* message) {
  std::fprintf(stderr, "%s%s\n", well ? "" : "FAILED: ", message);
  std::fflush(stderr);
  std::_Exit(well ? 0 : 1);
}

/// What became of a child: its exit status, or minus the signal that killed it.
inline int wait_for_child(int child) {
  int status = 0;
  while (::waitpid(child, &status, 0) != child)
    if (errno != EINTR) return -1'000;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

} // namespace rubato_test
