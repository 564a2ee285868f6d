// enqueue_after and enqueue_at: once, not early, and not at all after a successful cancel().
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "support/counting.hpp"
#include "support/jitter.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/second_thread.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

class timers : public on_workers {};
RUBATO_TEST_WITH_WORKERS(timers, all_counts);

TEST_P(timers, fire_once_and_not_early) {
  std::size_t const n = scaled(500);
  accounts book;
  std::atomic<std::size_t> early{0};
  for (std::size_t i = 0; i != n; ++i) {
    auto const t = steady_clock::now() + std::chrono::microseconds(i * 37 % 5'000);
    auto work = [&early, t, job = book.make()]() mutable {
      if (steady_clock::now() < t) ++early;
      job();
    };
    if (i % 2 == 0)
      pool.enqueue_at(t, std::move(work)); // dropping the handle calls nothing off
    else
      pool.enqueue_after(t - steady_clock::now(), std::move(work));
  }
  EXPECT_TRUE(pool.wait_idle()); // it waits for armed timers, too
  EXPECT_EQ(early, 0U);
  EXPECT_EQ(book.ran(), static_cast<long>(n));
  EXPECT_TRUE(book.balance());
}

TEST_P(timers, fire_in_order) {
  if (GetParam() > 1) return;                                          // then they may pass each other
  rubato::pool alone(rubato_test::with_workers(GetParam()).spares(0)); // no thread relieves the worker
  std::vector<int> order;
  bool in_time = false;
  for (auto lead = 10ms; !in_time; lead *= 2) { // all must be armed before the first is due
    order.clear();
    auto const start = steady_clock::now() + lead;
    for (int const i : {3, 0, 4, 1, 2})
      alone.enqueue_at(start + i * 1ms, [&order, i] { order.push_back(i); });
    in_time = steady_clock::now() < start;
    alone.wait_idle();
  }
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
}

TEST_P(timers, fire_at_once_if_the_time_has_passed) {
  std::atomic<int> runs{0};
  pool.enqueue_after(0s, [&] { ++runs; });
  pool.enqueue_after(-1h, [&] { ++runs; });
  pool.enqueue_at(steady_clock::time_point::min(), [&] { ++runs; });
  pool.enqueue_at(steady_clock::time_point(), [&](std::stop_token t) { runs += t.stop_possible() ? 1 : 0; });
  pool.wait_idle();
  EXPECT_EQ(runs, 4);
}

TEST_P(timers, are_called_off) {
  accounts book;
  auto handle = pool.enqueue_after(1h, [job = book.make()]() mutable { job(); });
  EXPECT_TRUE(handle.cancel());
  EXPECT_EQ(book.dropped(), 1); // at once
  EXPECT_FALSE(handle.cancel());
  EXPECT_FALSE(rubato::timer_handle().cancel());
  auto fired = pool.enqueue_after(0s, [job = book.make()]() mutable { job(); });
  pool.wait_idle();
  EXPECT_FALSE(fired.cancel());
  EXPECT_TRUE(book.balance());
  auto far = pool.enqueue_at(rubato::never, [job = book.make()]() mutable { job(); });
  auto farther = pool.enqueue_after(std::chrono::hours::max(), [job = book.make()]() mutable { job(); });
  auto copy = far; // two handles, one timer
  EXPECT_TRUE(far.cancel());
  EXPECT_FALSE(copy.cancel());
  EXPECT_TRUE(farther.cancel());
  EXPECT_TRUE(book.balance());
  EXPECT_TRUE(pool.wait_idle());
}

TEST_P(timers, tell_their_exceptions) {
  std::atomic<int> told{0};
  rubato::pool other(
      rubato_test::with_workers(GetParam()).on_unhandled([&](std::exception_ptr const&) { ++told; }));
  other.enqueue_after(0s, [] { throw 1; });
  other.enqueue_after(1ms, [] { throw 2; });
  other.wait_idle();
  EXPECT_EQ(told, 2);
}

TEST_P(timers, called_off_while_they_fire) {
  std::size_t const rounds = scaled(3'000);
  rubato_test::second_thread canceller;
  accounts book;
  for (std::size_t i = 0; i != rounds; ++i) {
    std::atomic<int> runs{0};
    auto handle =
        pool.enqueue_after(std::chrono::microseconds(60 + i % 60), [&runs, job = book.make()]() mutable {
          ++runs;
          job();
        });
    bool called_off = false;
    canceller.begin([&] {
      auto const end = steady_clock::now() + std::chrono::microseconds(i * 7 % 200);
      while (steady_clock::now() < end) continue;
      called_off = handle.cancel();
    });
    canceller.wait();
    pool.wait_idle();
    ASSERT_EQ(runs, called_off ? 0 : 1);
  }
  EXPECT_TRUE(book.balance());
}

TEST_P(timers, called_off_from_everywhere_at_once) {
  std::size_t const n = scaled(2'000);
  accounts book;
  std::atomic<long> called_off{0};
  std::vector<rubato::timer_handle> handles;
  for (std::size_t i = 0; i != n; ++i)
    handles.push_back(
        pool.enqueue_after(std::chrono::microseconds(i % 3'000), [job = book.make()]() mutable { job(); }));
  std::vector<std::thread> threads;
  for (int t = 0; t != 3; ++t)
    threads.emplace_back([&, mine = handles]() mutable {
      for (auto& h : mine)
        if (h.cancel()) ++called_off;
    });
  for (auto& t : threads) t.join();
  pool.wait_idle();
  EXPECT_TRUE(book.balance());
  EXPECT_EQ(book.dropped(), called_off);
}

TEST_P(timers, called_off_by_each_other) {
  std::atomic<int> runs{0};
  auto victim = pool.enqueue_after(1h, [&] { runs += 100; });
  pool.enqueue_after(1us, [&, handle = victim]() mutable {
    ++runs;
    if (handle.cancel()) ++runs;
  });
  pool.enqueue_after(0s, [&] { pool.enqueue_after(0s, [&] { ++runs; }); });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(runs, 3);
  EXPECT_FALSE(victim.cancel());
}

TEST_P(timers, pending_when_the_pool_drains_are_called_off) {
  accounts book;
  rubato::timer_handle kept;
  {
    rubato::pool mortal(rubato_test::with_workers(GetParam()));
    kept = mortal.enqueue_after(1h, [job = book.make()]() mutable { job(); });
    for (int i = 0; i != 100; ++i)
      mortal.enqueue_after(std::chrono::microseconds(i % 4 == 0 ? 0 : 1'000'000'000L * i),
                           [job = book.make()]() mutable { job(); });
  }
  EXPECT_TRUE(book.balance());
  EXPECT_GE(book.dropped(), 75);
  EXPECT_FALSE(kept.cancel());
}

TEST_P(timers, pending_when_the_pool_discards_are_called_off) {
  accounts book;
  for (int round = 0; round != 20; ++round) {
    rubato::pool mortal(rubato_test::with_workers(GetParam()));
    for (int i = 0; i != 100; ++i)
      mortal.enqueue_after(std::chrono::microseconds(i % 50 == 0 ? 3'600'000'000L : i),
                           [job = book.make()]() mutable { job(); });
    mortal.shutdown(rubato::discard);
    EXPECT_TRUE(book.balance());
    mortal.resize(1); // a new life
    std::atomic<bool> ran{false};
    mortal.enqueue_after(1us, [&] { ran = true; });
    mortal.wait_idle();
    EXPECT_TRUE(ran);
  }
  EXPECT_TRUE(book.balance());
}

TEST_P(timers, outlast_the_end_of_another_pool) {
  accounts book, others;
  std::vector<rubato::timer_handle> kept;
  {
    rubato::pool mortal(rubato_test::with_workers(GetParam()));
    for (int i = 0; i != 300; ++i) { // of all levels of the wheel, and beyond the last
      auto const due = i % 30 == 0 ? rubato::never : steady_clock::now() + 10s * (i * i * i);
      kept.push_back(pool.enqueue_at(due, [job = book.make()]() mutable { job(); }));
      static_cast<void>(mortal.enqueue_at(due, [job = others.make()]() mutable { job(); }));
    }
  }
  EXPECT_EQ(others.dropped(), 300);
  EXPECT_EQ(book.dropped(), 0);
  for (auto& k : kept) EXPECT_TRUE(k.cancel());
  EXPECT_TRUE(book.balance());
  EXPECT_TRUE(pool.wait_idle());
}

TEST_P(timers, armed_while_the_pool_ends) {
  if (pool.size() == 0) return;
  accounts book;
  for (std::size_t round = 0; round != scaled(200); ++round) {
    rubato::pool mortal(rubato_test::with_workers(GetParam() > 7 ? 7 : GetParam()));
    std::atomic<bool> armed{false};
    mortal.enqueue([&] {
      for (int i = 0; i != 20; ++i) {
        mortal.enqueue_after(std::chrono::microseconds(i), [job = book.make()]() mutable { job(); });
        mortal.enqueue_after(1h, [job = book.make()]() mutable { job(); });
        armed = true;
      }
    });
    ASSERT_TRUE(rubato_test::eventually([&] { return armed.load(); }));
    if (round % 2 == 0)
      mortal.shutdown();
    else
      mortal.shutdown(rubato::discard);
    ASSERT_TRUE(book.balance());
  }
}

TEST_P(timers, of_many_pools_at_once) {
  std::vector<std::unique_ptr<rubato::pool>> pools;
  for (int i = 0; i != 5; ++i)
    pools.push_back(std::make_unique<rubato::pool>(rubato_test::with_workers(i == 0 ? GetParam() : 1U)));
  std::atomic<std::size_t> runs{0};
  std::size_t const n = scaled(1'000);
  for (std::size_t i = 0; i != n; ++i)
    pools[i % 5]->enqueue_after(std::chrono::microseconds(i % 700), [&] { ++runs; });
  for (auto& p : pools) p->wait_idle();
  EXPECT_EQ(runs, n);
}

TEST(timers, regression_may_call_off_others_in_a_destructor) {
  struct link {
    rubato::timer_handle next;
    explicit link(rubato::timer_handle n)
        : next(std::move(n)) {}
    link(link&&) = default;
    ~link() { static_cast<void>(next.cancel()); }
  };
  rubato::pool pool(1);
  rubato::timer_handle last;
  for (int i = 0; i != 20; ++i)
    last =
        pool.enqueue_after(std::chrono::seconds(100), [keeps = std::make_unique<link>(std::move(last))] {});
  EXPECT_TRUE(last.cancel());
  EXPECT_TRUE(pool.wait_idle());
}

} // namespace
