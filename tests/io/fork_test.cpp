// The child of a fork() has a reactor of its own, and leaves that of its parent alone.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "io/descriptors.hpp"
#include "support/hang_guard.hpp"
#include "support/loopback.hpp"

namespace {

using namespace std::chrono_literals;

#if defined(__SANITIZE_THREAD__)
#define RUBATO_TEST_NO_FORK
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RUBATO_TEST_NO_FORK
#endif
#endif

#ifndef RUBATO_TEST_NO_FORK
TEST(io_after_fork, works_in_parent_and_child) {
  if (!rubato_test::has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  rubato_test::hang_guard const guard;
  rubato::pool pool(2);
  io_test::ends const both = io_test::make_pipe(), parents = io_test::make_pipe();
  rubato::signal_set signals(SIGUSR1);
  auto waits = pool.spawn(rubato::readable(parents.a.get()));
  rubato::tcp_listener const listener(rubato::address::loopback(0));
  pid_t const child = ::fork();
  if (child == 0) {
    int result = 0;
    {
      rubato::pool own(1);
      io_test::put(both.b, "x");
      if (own.block_on(rubato::readable(both.a.get())) != std::errc()) result = 1;
      if (own.block_on(rubato::readable(parents.a.get(), std::chrono::steady_clock::now() + 1ms)) !=
          std::errc::timed_out)
        result = 2;
      rubato::signal_set again(SIGUSR1);
      ::raise(SIGUSR1);
      if (own.block_on(again.next()) != SIGUSR1) result = 3;
      auto connecting = own.spawn(rubato::tcp_socket::connect(listener.local_address()));
      if (!own.block_on(listener.accept()).is_open()) result = 4; // made before the fork
      if (!connecting.get().is_open()) result = 5;
    }
    ::_exit(result);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  io_test::put(parents.b, "y");
  EXPECT_EQ(waits.get(), std::errc());
  ::raise(SIGUSR1);
  EXPECT_EQ(pool.block_on(signals.next()), SIGUSR1);
  rubato::forget(parents.a.get());
  rubato::forget(both.a.get());
}
#endif

} // namespace
