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
bool is_default(int signal) {
  struct sigaction now{};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
}

TEST(io_after_fork, regression_signals_act_as_before_in_the_child) {
  rubato_test::hang_guard const guard;
  rubato::signal_set parents(SIGTERM, SIGUSR1);
  pid_t const child = ::fork();
  if (child == 0) {
    int result = is_default(SIGTERM) && is_default(SIGUSR1) ? 0 : 1;
    {
      rubato::signal_set own(SIGTERM);
      ::raise(SIGTERM);
      if (rubato::block_on(own.next()) != SIGTERM) result = 2;
    }
    if (!is_default(SIGTERM)) result = 3;
    ::_exit(result);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_FALSE(is_default(SIGTERM));
  ::raise(SIGTERM);
  EXPECT_EQ(rubato::block_on(parents.next()), SIGTERM);
}

TEST(io_after_fork, regression_a_childs_close_spares_the_parents) {
  if (!rubato_test::has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  rubato_test::hang_guard const guard;
  rubato::tcp_listener listener(rubato::address::loopback(0));
  auto unbegun = listener.accept(); // in the child, too, an operation holds the descriptor
  pid_t const child = ::fork();
  if (child == 0) {
    listener.close();
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  rubato::pool pool(1);
  auto connecting = pool.spawn(rubato::tcp_socket::connect(listener.local_address()));
  EXPECT_TRUE(pool.block_on(std::move(unbegun)).is_open());
  EXPECT_TRUE(connecting.get().is_open());
}

TEST(io_after_fork, works_in_parent_and_child) {
  if (!rubato_test::has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  rubato_test::hang_guard const guard;
  rubato::pool pool(2);
  rubato_test::ends const both = rubato_test::make_pipe(), parents = rubato_test::make_pipe();
  rubato::signal_set signals(SIGUSR1);
  auto waits = pool.spawn(rubato::readable(parents.a.get()));
  rubato::tcp_listener const listener(rubato::address::loopback(0));
  pid_t const child = ::fork();
  if (child == 0) {
    int result = 0;
    {
      rubato::pool own(1);
      rubato_test::put(both.b, "x");
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
  rubato_test::put(parents.b, "y");
  EXPECT_EQ(waits.get(), std::errc());
  ::raise(SIGUSR1);
  EXPECT_EQ(pool.block_on(signals.next()), SIGUSR1);
  rubato::forget(parents.a.get());
  rubato::forget(both.a.get());
}
#endif

} // namespace
