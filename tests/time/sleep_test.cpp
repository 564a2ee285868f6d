// Sleeping coroutines, intervals and deadlines: never early, in order, and ended by a stop.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/jitter.hpp"
#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

class sleeping : public on_workers {};
RUBATO_TEST_WITH_WORKERS(sleeping, all_counts);

TEST_P(sleeping, is_never_too_short) {
  auto const sleeper = [](std::chrono::microseconds d) -> rubato::task<bool> {
    auto const before = steady_clock::now();
    co_await rubato::sleep_for(d);
    co_return steady_clock::now() - before >= d;
  };
  auto const until = [](std::chrono::microseconds d) -> rubato::task<bool> {
    auto const t = steady_clock::now() + d;
    co_await rubato::sleep_until(t);
    co_return steady_clock::now() >= t;
  };
  std::size_t const n = scaled(300);
  std::vector<rubato::future<bool>> all;
  for (std::size_t i = 0; i != n; ++i) {
    auto const d = std::chrono::microseconds(i * 37 % 5'000);
    all.push_back(pool.spawn(i % 2 == 0 ? sleeper(d) : until(d)));
  }
  for (auto& f : all) EXPECT_TRUE(f.get());
}

TEST_P(sleeping, regression_is_stopped_while_its_timer_is_armed) {
  auto const sleeper = []() -> rubato::task<void> { co_await rubato::sleep_for(1h); };
  for (std::size_t i = 0, n = scaled(2'000); i != n; ++i) {
    auto f = pool.spawn(sleeper);
    for (std::size_t k = 0; k != i % 64; ++k) std::atomic_signal_fence(std::memory_order_seq_cst);
    f.cancel();
    EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  }
}

TEST_P(sleeping, ends_in_order) {
  if (GetParam() > 1) return;                                          // then they may pass each other
  rubato::pool alone(rubato_test::with_workers(GetParam()).spares(0)); // no thread relieves the worker
  std::vector<int> order;
  bool in_time = false;
  for (auto lead = 20ms; !in_time; lead *= 2) { // all must sleep before the first is due
    order.clear();
    auto const start = steady_clock::now() + lead;
    auto const sleeper = [&](int i) -> rubato::task<void> {
      co_await rubato::sleep_until(start + i * 2ms);
      order.push_back(i);
    };
    std::vector<rubato::future<void>> all;
    for (int const i : {3, 0, 4, 1, 2}) all.push_back(alone.spawn(sleeper, i));
    alone.enqueue([&in_time, start] { in_time = steady_clock::now() < start; }); // its turn is after theirs
    alone.wait_idle();
  }
  // Under load several may be due at once; each is still queued in its turn.
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
}

TEST_P(sleeping, of_no_length_and_less_and_for_ever) {
  auto const f = []() -> rubato::task<void> {
    co_await rubato::sleep_for(0ns);
    co_await rubato::sleep_for(-1h);
    co_await rubato::sleep_for(std::chrono::hours::min());
    co_await rubato::sleep_until(steady_clock::time_point::min());
    co_await rubato::sleep_until(steady_clock::time_point());
    co_await rubato::sleep_for(std::chrono::duration<double>(1e-9));
  };
  pool.spawn(f).get();
  auto const for_ever = []() -> rubato::task<void> { co_await rubato::sleep_for(std::chrono::hours::max()); };
  auto const never = []() -> rubato::task<void> { co_await rubato::sleep_until(rubato::never); };
  auto const very_long = []() -> rubato::task<void> {
    co_await rubato::sleep_for(std::chrono::duration<double>(1e300));
  };
  auto a = pool.spawn(for_ever);
  auto b = pool.spawn(never);
  auto c = pool.spawn(very_long);
  for (auto* g : {&a, &b, &c}) {
    EXPECT_FALSE(g->wait_for(1ms));
    g->cancel();
    EXPECT_EQ(outcome_of_get(*g), outcome::cancelled);
  }
}

TEST_P(sleeping, is_ended_by_a_stop) {
  leak_check const none_left;
  auto const sleeper = [](counted) -> rubato::task<int> {
    try {
      co_await rubato::sleep_for(1h);
    } catch (rubato::cancelled const&) {
      co_return 1;
    }
    co_return 0;
  };
  std::vector<rubato::future<int>> all;
  for (int i = 0; i != 50; ++i) all.push_back(pool.spawn(sleeper, counted(1)));
  if (pool.size() != 0) {
    for (auto& f : all) EXPECT_FALSE(f.wait_for(20us));
  }
  for (auto& f : all) f.cancel();
  for (auto& f : all) {
    try {
      EXPECT_EQ(f.get(), 1);
    } catch (rubato::cancelled const&) { // it had not begun
    }
  }
  pool.wait_idle();
}

TEST_P(sleeping, stopped_already_does_not_begin) {
  std::atomic<bool> go{false};
  auto const f = [&]() -> rubato::task<int> {
    auto const token = rubato::this_task_stop_token();
    while (!token.stop_requested()) {
      go = true;
      co_await rubato::yield();
    }
    int ended = 0;
    for (int i = 0; i != 3; ++i) {
      try {
        co_await rubato::sleep_for(1h);
      } catch (rubato::cancelled const&) {
        ++ended;
      }
    }
    co_return ended;
  };
  if (pool.size() == 0) return;
  auto g = pool.spawn(f);
  EXPECT_TRUE(eventually([&] { return go.load(); }));
  g.cancel();
  EXPECT_EQ(g.get(), 3);
}

TEST_P(sleeping, many_at_once_with_some_cancelled) {
  std::size_t const n = scaled(5'000);
  jitter random(1);
  std::atomic<std::size_t> early{0};
  auto const sleeper = [&](std::chrono::microseconds d) -> rubato::task<void> {
    auto const t = steady_clock::now() + d;
    co_await rubato::sleep_until(t);
    if (steady_clock::now() < t) ++early;
  };
  std::vector<rubato::future<void>> all;
  for (std::size_t i = 0; i != n; ++i)
    all.push_back(pool.spawn(sleeper, std::chrono::microseconds(random.below(20'000))));
  for (std::size_t i = 0; i < n; i += 2) all[i].cancel();
  for (std::size_t i = 1; i < n; i += 2) all[i].get();
  pool.wait_idle();
  EXPECT_EQ(early, 0U);
}

// Intervals

TEST_P(sleeping, intervals_tick_at_multiples) {
  auto const f = []() -> rubato::task<int> {
    auto const start = steady_clock::now();
    rubato::interval i(2ms);
    int early = 0;
    for (int n = 1; n != 8; ++n) {
      co_await i.tick();
      if (steady_clock::now() < start + n * 2ms) ++early;
    }
    co_return early;
  };
  EXPECT_EQ(pool.spawn(f).get(), 0);
}

TEST_P(sleeping, intervals_leave_out_what_was_missed) {
  auto const f = []() -> rubato::task<bool> {
    rubato::interval i(1ms);
    auto const until = steady_clock::now() + 20ms;
    co_await rubato::sleep_until(until);
    auto const before = steady_clock::now();
    co_await i.tick(); // at once
    co_await i.tick(); // at the next multiple, not nineteen times at once
    co_await i.tick();
    co_await i.tick();
    co_return steady_clock::now() - before >= 1ms;
  };
  EXPECT_TRUE(pool.spawn(f).get());
}

TEST(sleeping, intervals_must_be_positive) {
  EXPECT_THROW(rubato::interval(0ms), std::invalid_argument);
  EXPECT_THROW(rubato::interval(-1ms), std::invalid_argument);
  EXPECT_NO_THROW(rubato::interval(std::chrono::duration<double, std::nano>(0.1)));
}

TEST_P(sleeping, intervals_may_be_as_long_as_one_likes) {
  auto const f = [](rubato::interval i) -> rubato::task<void> { co_await i.tick(); };
  auto a = pool.spawn(f, rubato::interval(std::chrono::hours(24 * 365 * 290)));
  EXPECT_FALSE(a.wait_for(2ms));
  auto b = pool.spawn(f, rubato::interval(std::chrono::hours::max()));
  EXPECT_FALSE(b.wait_for(2ms));
}

// Deadlines

rubato::task<int> after(std::chrono::nanoseconds d, int n) {
  co_await rubato::sleep_for(d);
  co_return n;
}
rubato::task<void> nothing_after(std::chrono::nanoseconds d) { co_await rubato::sleep_for(d); }

TEST_P(sleeping, deadlines_bring_the_value_or_nothing) {
  auto const f = [this]() -> rubato::task<int> {
    int right = 0;
    auto const in_time = co_await rubato::with_deadline(after(0ns, 1), 1h);
    right += in_time == std::optional<int>(1) ? 1 : 0;
    auto const too_late = co_await rubato::with_deadline(after(1h, 1), 1ms);
    right += too_late.has_value() ? 0 : 1;
    bool const done = co_await rubato::with_deadline(nothing_after(0ns), 1h);
    right += done ? 1 : 0;
    bool const not_done = co_await rubato::with_deadline(nothing_after(1h), steady_clock::now() + 1ms);
    right += not_done ? 0 : 1;
    auto const of_future =
        co_await rubato::with_deadline(pool.spawn([] { return std::make_unique<int>(5); }), 1h);
    right += **of_future == 5 ? 1 : 0;
    auto const for_ever = co_await rubato::with_deadline(after(0ns, 2), rubato::never);
    right += for_ever == std::optional<int>(2) ? 1 : 0;
    rubato::promise<int> never_kept;
    auto const of_promise = co_await rubato::with_deadline(never_kept.get_future(), 1ms);
    right += of_promise.has_value() ? 0 : 1;
    auto const gone = co_await rubato::with_deadline(after(1h, 3), -1h);
    right += gone.has_value() ? 0 : 1;
    co_return right;
  };
  EXPECT_EQ(pool.spawn(f).get(), 8);
}

TEST_P(sleeping, deadlines_throw_what_the_awaited_throws) {
  auto const fails = []() -> rubato::task<int> {
    co_await rubato::yield();
    throw failure(3);
  };
  auto const f = [&]() -> rubato::task<void> { co_await rubato::with_deadline(fails(), 1h); };
  EXPECT_EQ(failure_of([&] { pool.spawn(f).get(); }), 3);
  // its own `cancelled` is not the deadline's
  auto const gives_up = []() -> rubato::task<int> {
    co_await rubato::yield();
    throw rubato::cancelled();
  };
  auto const g = [&]() -> rubato::task<void> { co_await rubato::with_deadline(gives_up(), 1h); };
  auto h = pool.spawn(g);
  EXPECT_EQ(outcome_of_get(h), outcome::cancelled);
}

TEST_P(sleeping, deadlines_await_the_loser_and_take_what_it_brings) {
  std::atomic<bool> begun{false}, ended{false};
  auto const stubborn = [&]() -> rubato::task<int> {
    begun = true;
    try {
      co_await rubato::sleep_for(1h);
    } catch (rubato::cancelled const&) {
    }
    for (int i = 0; i != 10; ++i) co_await rubato::yield();
    ended = true;
    co_return 9;
  };
  auto const f = [&]() -> rubato::task<int> {
    std::optional<int> r;
    for (auto limit = 1ms; !begun; limit *= 2) r = co_await rubato::with_deadline(stubborn(), limit);
    EXPECT_TRUE(ended);
    co_return r.value_or(-1);
  };
  EXPECT_EQ(pool.spawn(f).get(), 9);
}

TEST_P(sleeping, deadlines_are_ended_by_a_stop_from_outside) {
  if (pool.size() == 0) return;
  std::atomic<bool> begun{false};
  auto const limited = [&]() -> rubato::task<int> {
    begun = true; // and so has with_deadline(): in a task that was stopped before, it would throw
    co_return co_await after(1h, 1);
  };
  auto const f = [&]() -> rubato::task<bool> {
    auto const r = co_await rubato::with_deadline(limited(), 2h);
    co_return r.has_value();
  };
  auto g = pool.spawn(f);
  EXPECT_TRUE(eventually([&] { return begun.load(); }));
  g.cancel();
  EXPECT_FALSE(g.get());
}

TEST_P(sleeping, deadlines_racing_their_work) {
  std::size_t const n = scaled(500);
  auto const f = [](std::size_t i) -> rubato::task<int> {
    auto const r = co_await rubato::with_deadline(after(std::chrono::microseconds(i % 100), 1), 50us);
    co_return r.value_or(0);
  };
  std::vector<rubato::future<int>> all;
  for (std::size_t i = 0; i != n; ++i) all.push_back(pool.spawn(f, i));
  for (auto& g : all) EXPECT_LE(g.get(), 1);
}

TEST(deadlines, regression_a_deadline_comes_though_the_pool_ends) {
  rubato::channel<int> never_sent(1);
  std::atomic<bool> ended{false};
  {
    rubato::pool pool(1);
    pool.enqueue([&] {
      try {
        auto const got =
            rubato::block_on(rubato::with_deadline(never_sent.receive(), std::chrono::seconds(100)));
        ended = !got.has_value() || !got->has_value();
      } catch (rubato::cancelled const&) { // the pool drained before it began
        ended = true;
      }
    });
  }
  EXPECT_TRUE(ended);
}

} // namespace
