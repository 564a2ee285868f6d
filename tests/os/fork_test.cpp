#include "os/io/process.hpp"

#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// Registered for good, so they must not disturb the other tests' forks.
std::string calls; // NOLINT(cert-err58-cpp)

TEST(fork, handlers_run_in_order) {
  rubato::os::register_fork_handlers([] { calls += "p1 "; }, [] { calls += "a1 "; }, [] { calls += "c1 "; });
  rubato::os::register_fork_handlers([] { calls += "p2 "; }, [] { calls += "a2 "; }, [] { calls += "c2 "; });
  rubato::os::register_fork_handlers(nullptr, nullptr, nullptr);
  calls.clear();
  auto const child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(calls == "p2 p1 c1 c2 " ? 0 : 1);
  EXPECT_EQ(calls, "p2 p1 a1 a2 ");
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

} // namespace
