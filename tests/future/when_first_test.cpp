// when_first: the first completion, value or exception; the losers are asked to stop.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/second_thread.hpp"
#include "support/tasks.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

class when_first : public on_workers {};
RUBATO_TEST_WITH_WORKERS(when_first, all_counts);

TEST_P(when_first, regression_shows_a_failure_beside_endless_waits) {
  rubato::signal_set signals(SIGUSR2); // never raised
  auto f = pool.spawn([&]() -> rubato::task<void> {
    auto first = rubato::when_first(fails(7), signals.next());
    static_cast<void>(co_await std::move(first));
  });
  EXPECT_EQ(failure_of([&] { f.get(); }), 7);
}

TEST(when_first, of_futures_throws_the_first_failure) {
  rubato::promise<int> a;
  rubato::promise<std::string> b;
  auto f = rubato::when_first(a.get_future(), b.get_future());
  EXPECT_FALSE(f.ready());
  b.set_exception(failure(2));
  EXPECT_TRUE(f.ready());
  EXPECT_TRUE(a.token().stop_requested());
  a.set_value(1);
  EXPECT_EQ(failure_of([&] { f.get(); }), 2);
}

TEST(when_first, of_futures_tells_the_winner_and_its_value) {
  rubato::promise<int> a;
  rubato::promise<void> b;
  auto f = rubato::when_first(a.get_future(), b.get_future());
  b.set_value();
  a.set_exception(failure(1));
  auto const r = f.get();
  EXPECT_EQ(r.index, 1U);
  EXPECT_EQ(r.value.index(), 1U);
}

TEST(when_first, of_a_range_brings_the_value_or_the_failure) {
  for (bool const succeeds : {false, true}) {
    std::vector<rubato::promise<std::unique_ptr<int>>> promises(10);
    std::vector<rubato::future<std::unique_ptr<int>>> all;
    for (auto& p : promises) all.push_back(p.get_future());
    auto f = rubato::when_first(std::move(all));
    if (succeeds)
      promises[7].set_value(std::make_unique<int>(70));
    else
      promises[7].set_exception(failure(70));
    promises[3].set_value(std::make_unique<int>(30));
    if (succeeds) {
      auto const r = f.get();
      EXPECT_EQ(r.index, 7U);
      EXPECT_EQ(*r.value, 70);
    } else {
      EXPECT_EQ(failure_of([&] { f.get(); }), 70);
    }
  }
}

TEST(when_first, of_nothing_is_an_error) {
  EXPECT_THROW(static_cast<void>(rubato::when_first(std::vector<rubato::future<int>>())),
               std::invalid_argument);
  EXPECT_THROW(static_cast<void>(rubato::when_first(std::vector<rubato::task<int>>())),
               std::invalid_argument);
  using step = decltype(std::declval<rubato::channel<int>&>().receive());
  EXPECT_THROW(static_cast<void>(rubato::when_first(std::vector<step>())), std::invalid_argument);
  EXPECT_EQ(outcome_of([] { auto f = rubato::when_first(rubato::future<int>()); }), outcome::no_state);
}

TEST(when_first, of_ready_futures_takes_the_first_argument) {
  EXPECT_EQ(failure_of([] {
              rubato::when_first(rubato::make_exceptional_future<int>(failure(1)),
                                 rubato::make_ready_future(2))
                  .get();
            }),
            1);
  EXPECT_EQ(rubato::when_first(rubato::make_ready_future(2), rubato::make_exceptional_future<int>(failure(1)))
                .get()
                .index,
            0U);
}

TEST(when_first, a_cancelled_argument_has_completed) {
  hang_guard const guard;
  rubato::pool idle(rubato::no_workers);
  rubato::promise<int> never;
  auto cancelled = idle.spawn([] { return 1; });
  cancelled.cancel();
  auto f = rubato::when_first(never.get_future(), std::move(cancelled));
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
}

TEST(when_first, leaves_what_is_shared_alone) {
  rubato::promise<std::string> p;
  auto const shared = p.get_future().share();
  auto f = rubato::when_first(shared, rubato::make_exceptional_future<int>(failure(1)));
  EXPECT_EQ(failure_of([&] { f.get(); }), 1);
  auto g = rubato::when_first(shared, shared);
  p.set_exception(failure(2));
  EXPECT_EQ(failure_of([&] { g.get(); }), 2);
  EXPECT_EQ(failure_of([&] { shared.get(); }), 2);
}

TEST_P(when_first, asks_the_losers_to_stop) {
  if (pool.size() == 0) return; // no thread would run them meanwhile
  std::atomic<int> stopped{0};
  auto const work = [&stopped](std::stop_token t) {
    EXPECT_TRUE(rubato_test::eventually([&] { return t.stop_requested(); }));
    return ++stopped;
  };
  rubato::promise<int> p;
  auto f = rubato::when_first(pool.spawn(work), p.get_future(), pool.spawn(work));
  p.set_exception(failure(3));
  EXPECT_EQ(failure_of([&] { f.get(); }), 3);
  EXPECT_TRUE(pool.wait_idle());
}

TEST_P(when_first, cancelled_ends_when_all_work_has_ended) {
  if (pool.size() < 2) return; // both have to run at once
  for (std::size_t round = 0; round != scaled(100); ++round) {
    std::atomic<int> begun{0};
    std::atomic<int> running{0};
    std::atomic<bool> may_end{false};
    auto const work = [&](bool slow) {
      return [&, slow](std::stop_token t) -> int {
        ++running;
        ++begun;
        while (!t.stop_requested()) std::this_thread::yield();
        while (slow && !may_end) std::this_thread::yield();
        --running;
        throw rubato::cancelled();
      };
    };
    auto f = rubato::when_first(pool.spawn(work(false)), pool.spawn(work(true)));
    ASSERT_TRUE(rubato_test::eventually([&] { return begun == 2; }));
    f.cancel();
    ASSERT_TRUE(rubato_test::eventually([&] { return running == 1; }));
    may_end = true;
    EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
    EXPECT_EQ(running, 0);
  }
}

TEST(when_first, has_one_winner_of_two_at_once) {
  hang_guard const guard;
  rubato_test::second_thread setter;
  std::size_t const rounds = scaled(5'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    rubato::promise<std::size_t> a;
    rubato::promise<std::size_t> b;
    auto fa = a.get_future();
    auto fb = b.get_future();
    setter.begin([&, i] {
      rubato_test::delay(static_cast<unsigned>(i * 7 % 150));
      a.set_exception(failure(5));
    });
    auto first = [&] {
      if (i % 2 != 0) rubato_test::delay(static_cast<unsigned>(i * 13 % 150));
      return rubato::when_first(std::move(fa), std::move(fb));
    }();
    rubato_test::delay(static_cast<unsigned>(i * 13 % 150));
    b.set_value(1);
    std::optional<std::size_t> index;
    int const failed = failure_of([&] { index = first.get().index; });
    if (index)
      ASSERT_EQ(*index, 1U);
    else
      ASSERT_EQ(failed, 5);
    setter.wait();
  }
}

// Awaitables that are not futures

TEST_P(when_first, of_tasks_ends_when_the_losers_have_ended) {
  for (bool const succeeds : {false, true}) {
    std::atomic<int> ended{0};
    auto f = pool.spawn([&]() -> rubato::task<std::size_t> {
      auto first =
          rubato::when_first(until_stopped(ended), succeeds ? number(1) : fails(1), until_stopped(ended));
      auto const r = co_await std::move(first);
      co_return r.index;
    });
    std::size_t index = 1;
    EXPECT_EQ(failure_of([&] { index = f.get(); }), succeeds ? -1 : 1);
    EXPECT_EQ(index, 1U);
    int const now = ended;
    pool.wait_idle();
    EXPECT_EQ(ended, now);
  }
}

TEST_P(when_first, of_tasks_in_a_range) {
  auto f = pool.spawn([]() -> rubato::task<void> {
    std::vector<rubato::task<int>> tasks;
    for (int i = 0; i != 20; ++i) tasks.push_back(fails(4));
    static_cast<void>(co_await rubato::when_first(std::move(tasks)));
  });
  EXPECT_EQ(failure_of([&] { f.get(); }), 4);
}

TEST_P(when_first, of_a_task_and_a_future) {
  auto f = pool.spawn([]() -> rubato::task<void> {
    rubato::promise<void> never_kept;
    auto first = rubato::when_first(fails(6), never_kept.get_future());
    static_cast<void>(co_await std::move(first));
  });
  EXPECT_EQ(failure_of([&] { f.get(); }), 6);
}

TEST_P(when_first, of_stopped_awaitables_ends_with_all_of_them) {
  std::atomic<int> ended{0};
  auto f = pool.spawn([&]() -> rubato::task<void> {
    rubato::channel<int> c(0);
    auto first = rubato::when_first(until_stopped(ended), c.receive(), until_stopped(ended));
    static_cast<void>(co_await std::move(first));
  });
  f.wait_for(std::chrono::milliseconds(1));
  f.cancel();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  int const now = ended;
  pool.wait_idle();
  EXPECT_EQ(ended, now);
}

/// A failure that comes first has claimed the race: the receive takes nothing.
TEST_P(when_first, a_losing_receive_takes_no_value) {
  rubato::channel<int> c(1);
  std::size_t const rounds = scaled(300);
  std::size_t received = 0;
  auto const one_round = [&]() -> rubato::task<void> {
    auto first = rubato::when_first(fails(1), c.receive());
    auto const r = co_await std::move(first);
    received += std::get<1>(r.value).has_value() ? 1U : 0U;
  };
  std::size_t sent = 0;
  for (std::size_t i = 0; i != rounds; ++i) {
    auto f = pool.spawn(one_round());
    auto send = pool.spawn([&]() -> rubato::task<bool> {
      co_await rubato::yield();
      co_return c.try_send(1);
    });
    sent += send.get() ? 1U : 0U;
    int const failed = failure_of([&] { f.get(); });
    EXPECT_TRUE(failed == -1 || failed == 1) << failed;
    if (c.try_receive()) ++received;
  }
  EXPECT_EQ(received, sent);
}

TEST_P(when_first, of_receives_alone) {
  auto f = pool.spawn([]() -> rubato::task<std::size_t> {
    rubato::channel<int> a(1);
    rubato::channel<int> b(1);
    EXPECT_TRUE(b.try_send(5));
    auto first = rubato::when_first(a.receive(), b.receive());
    auto const r = co_await std::move(first);
    EXPECT_EQ(std::get<1>(r.value), 5);
    co_return r.index;
  });
  EXPECT_EQ(f.get(), 1U);
}

} // namespace
