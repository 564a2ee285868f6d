// Signals arrive as events, at every set that asked for them, and have their old action again afterwards.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <optional>
#include <stdexcept>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

class signals : public on_workers {};
RUBATO_TEST_WITH_WORKERS(signals, all_counts);

TEST_P(signals, are_received_by_each_set) {
  rubato::signal_set a(SIGUSR1, SIGUSR2), b(SIGUSR1);
  auto f = pool.spawn(a.next());
  ASSERT_EQ(::raise(SIGUSR1), 0);
  EXPECT_EQ(f.get(), SIGUSR1);
  EXPECT_EQ(pool.block_on(b.next()), SIGUSR1);
  ASSERT_EQ(::raise(SIGUSR2), 0);
  EXPECT_EQ(pool.block_on(a.next()), SIGUSR2);
}

TEST_P(signals, that_come_before_next_wait_for_it) {
  rubato::signal_set a(SIGUSR1);
  ASSERT_EQ(::raise(SIGUSR1), 0);
  EXPECT_EQ(pool.block_on(a.next()), SIGUSR1);
  ASSERT_EQ(::raise(SIGUSR1), 0);
  EXPECT_EQ(pool.block_on(a.next()), SIGUSR1);
}

TEST_P(signals, regression_of_a_gone_set_do_not_reach_the_next) {
  {
    rubato::signal_set const gone(SIGUSR1);
    ASSERT_EQ(::raise(SIGUSR1), 0);
  }
  rubato::signal_set next(SIGUSR1, SIGUSR2);
  ASSERT_EQ(::raise(SIGUSR2), 0);
  EXPECT_EQ(pool.block_on(next.next()), SIGUSR2);
}

TEST_P(signals, regression_that_a_task_raises_are_received) {
  rubato::signal_set a(SIGUSR1);
  auto f = pool.spawn(a.next());
  pool.enqueue([] { EXPECT_EQ(::raise(SIGUSR1), 0); });
  EXPECT_EQ(f.get(), SIGUSR1);
}

volatile std::sig_atomic_t seen = 0;

TEST_P(signals, have_their_old_action_when_the_last_set_is_gone) {
  auto const old = ::signal(SIGUSR1, [](int) { seen = seen + 1; });
  seen = 0;
  {
    std::optional<rubato::signal_set> a(std::in_place, SIGUSR1), b(std::in_place, SIGUSR1);
    a.reset();
    ASSERT_EQ(::raise(SIGUSR1), 0);
    EXPECT_EQ(seen, 0);
    EXPECT_EQ(pool.block_on(b->next()), SIGUSR1);
  }
  ASSERT_EQ(::raise(SIGUSR1), 0);
  EXPECT_EQ(seen, 1);
  ::signal(SIGUSR1, old);
}

TEST_P(signals, are_awaited_until_the_pool_drains) {
  rubato::signal_set a(SIGUSR1);
  auto f = pool.spawn(a.next());
  pool.shutdown();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
}

TEST(signal_sets, regression_of_faults_are_refused) {
  for (int const fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    EXPECT_THROW(rubato::signal_set{fault}, std::invalid_argument);
    EXPECT_THROW((rubato::signal_set{SIGUSR1, fault}), std::invalid_argument);
  }
}

struct has_signals {
  rubato::signal_set one{SIGUSR1};
  rubato::signal_set two{SIGUSR1, SIGUSR2};
};

TEST(signal_sets, regression_are_made_with_braces) {
  has_signals here;
  ASSERT_EQ(::raise(SIGUSR2), 0);
  EXPECT_EQ(rubato::block_on(here.two.next()), SIGUSR2);
}

TEST(signal_sets, of_what_is_no_signal_or_cannot_be_caught_throw) {
  EXPECT_THROW(rubato::signal_set(0), std::system_error);
  EXPECT_THROW(rubato::signal_set(10'000), std::system_error);
  EXPECT_THROW(rubato::signal_set(SIGUSR1, SIGKILL), std::system_error);
}

} // namespace
