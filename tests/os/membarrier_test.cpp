#include "os/die.hpp"
#include "os/membarrier.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace rubato;

TEST(membarrier, the_answer_never_changes) {
  bool const first = os::membarrier_available();
  std::thread([&] { EXPECT_EQ(os::membarrier_available(), first); }).join();
  EXPECT_EQ(os::membarrier_available(), first);
}

TEST(membarrier, works) {
  if (!os::membarrier_available()) GTEST_SKIP() << "not here";
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop.load()) {
    }
  });
  for (int i = 0; i < 100; ++i) os::membarrier();
  stop.store(true);
  other.join();
}

TEST(membarrier, can_be_refused_for_tests) {
  bool const real = os::membarrier_available();
  os::refuse_membarrier(true);
  EXPECT_FALSE(os::membarrier_available());
  os::refuse_membarrier(false);
  EXPECT_EQ(os::membarrier_available(), real);
}

TEST(membarrier, goes_on_in_the_child_of_afork) {
  if (!os::membarrier_available()) GTEST_SKIP() << "not here";
  auto const child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::thread other([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
    bool const available = os::membarrier_available();
    os::membarrier();
    other.join();
    ::_exit(available ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/// From now on membarrier fails with that error, as in a sandbox. False if this system has no such thing.
bool forbid_membarrier(int error) {
  sock_filter filter[] = {
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_membarrier},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  };
  sock_fprog const program{.len = 4, .filter = filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

testing::ExitedWithCode const yes(0);

[[noreturn]] void exit_with(bool ok) { std::_Exit(ok ? 0 : 1); }

TEST(membarrier_death, the_environment_can_forbid_it) {
  EXPECT_EXIT((::setenv("RUBATO_NO_MEMBARRIER", "1", 1), exit_with(!os::detail::ask_for_membarrier())), yes,
              "");
}

TEST(membarrier_death, empty_and_zero_forbid_nothing) {
  auto const same_as_unset = [](char const* no) {
    ::unsetenv("RUBATO_NO_MEMBARRIER");
    bool const without = os::detail::ask_for_membarrier();
    ::setenv("RUBATO_NO_MEMBARRIER", no, 1);
    return os::detail::ask_for_membarrier() == without;
  };
  for (auto const* const no : {"", "0"}) EXPECT_EXIT(exit_with(same_as_unset(no)), yes, "");
}

TEST(membarrier_death, the_environment_is_read_once) {
  EXPECT_EXIT(
      {
        bool const before = os::membarrier_available();
        ::setenv("RUBATO_NO_MEMBARRIER", "1", 1);
        exit_with(os::membarrier_available() == before);
      },
      yes, "");
}

TEST(membarrier_death, a_sandbox_can_forbid_it) {
  for (int const error : {EPERM, ENOSYS})
    EXPECT_EXIT(exit_with(!forbid_membarrier(error) || !os::detail::ask_for_membarrier()), yes, "");
}

TEST(membarrier_death, a_sandbox_that_comes_too_late_is_the_end) {
  EXPECT_DEATH(
      {
        if (!os::membarrier_available() || !forbid_membarrier(EPERM)) os::die("membarrier is not here");
        os::membarrier();
      },
      "rubato: .*membarrier");
}

} // namespace
