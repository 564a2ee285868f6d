// An idle worker sleeps among the kernel's events: wakes reach it there, and events reach it behind a
// backlog.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "io/descriptors.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

class beside_events : public on_workers {
protected:
  ends idle = make_pipe(); ///< nothing is written here: its wait keeps the reactor there
  rubato::future<std::errc> waits = pool.spawn(rubato::readable(idle.a.get()));
  ~beside_events() override { rubato::forget(idle.a.get()); }
};
RUBATO_TEST_WITH_WORKERS(beside_events, all_counts);

TEST_P(beside_events, every_wake_reaches_a_worker) {
  for (std::size_t i = 0; i != scaled(20'000); ++i) {
    pool.spawn([] {}).get();
    if (i % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(i % 7 * 20)); // they fall asleep
  }
}

TEST_P(beside_events, wakes_and_events_do_not_take_each_others_place) {
  ends const there = rubato_test::make_pair();
  int const rounds = static_cast<int>(scaled(5'000));
  auto echo = pool.spawn([](int fd, int n) -> rubato::task<void> {
    for (int i = 0; i != n; ++i) {
      EXPECT_EQ(co_await rubato::readable(fd), std::errc());
      char c = 0;
      EXPECT_EQ(::read(fd, &c, 1), 1);
      EXPECT_EQ(::write(fd, &c, 1), 1);
    }
  }(there.a.get(), rounds));
  std::jthread const other([&] {
    for (int i = 0; i != rounds; ++i) pool.spawn([] {}).get();
  });
  std::thread client([&] {
    for (int i = 0; i != rounds; ++i) {
      rubato_test::put(there.b, "x");
      while (rubato_test::get(there.b) < 0) std::this_thread::yield();
    }
  });
  echo.get(); // drives the pool if it has no workers
  client.join();
  rubato::forget(there.a.get());
}

TEST_P(beside_events, pools_end_and_resize_while_a_worker_sleeps) {
  for (std::size_t i = 0; i != scaled(GetParam() > 7 ? 100 : 500); ++i) {
    rubato::pool other(rubato_test::with_workers(GetParam()));
    auto f = other.spawn([] { return 1; });
    if (i % 2 == 0) other.resize(GetParam() + 1U);
    EXPECT_EQ(f.get(), 1);
    if (i % 5 == 0) std::this_thread::sleep_for(200us);
    if (i % 3 == 0) other.resize(1);
  }
}

TEST_P(beside_events, events_of_one_pool_reach_the_worker_of_another) {
  rubato::pool other(1);
  ends const p = make_pipe();
  for (std::size_t i = 0; i != scaled(500); ++i) {
    auto f = other.spawn(rubato::readable(p.a.get()));
    auto g = pool.spawn([] { return 2; });
    rubato_test::put(p.b, "x");
    EXPECT_EQ(f.get(), std::errc());
    EXPECT_EQ(g.get(), 2);
    EXPECT_EQ(rubato_test::get(p.a), 'x');
  }
  rubato::forget(p.a.get());
}

/// It would search for an hour otherwise. An event that comes long after the one before is taken in turn. One
/// that comes while the coroutine is being suspended does not count: the coroutine goes on at once, as its
/// own task.
TEST(event_key, regression_a_worker_sleeps_soon_after_a_rare_event) {
  hang_guard const guard;
  rubato::pool pool(rubato::pool_options().workers(1).search_time(1h));
  ends const p = make_pipe();
  std::atomic<int> handled{0};
  std::atomic<bool> is_over{false};
  auto handler =
      pool.spawn([](int fd, std::atomic<int>& n, std::atomic<bool> const& over) -> rubato::task<void> {
        for (; !over; ++n) {
          co_await rubato::readable(fd);
          char c = 0;
          EXPECT_EQ(::read(fd, &c, 1), 1);
        }
      }(p.a.get(), handled, is_over));
  auto const before = pool.stats().parked;
  for (int i = 1; i != 1'000 && pool.stats().parked == before; ++i) {
    std::this_thread::sleep_for(1ms);
    rubato_test::put(p.b, "x");
    ASSERT_TRUE(eventually([&] { return handled == i; }));
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_GT(pool.stats().parked, before);
  is_over = true;
  rubato_test::put(p.b, "x");
  handler.get();
  rubato::forget(p.a.get());
}

// The event lane: guarantee F

class event_lane : public testing::TestWithParam<unsigned> {
  static constexpr std::size_t backlog = 20'000;
  hang_guard guard_;

protected:
  rubato::pool pool{rubato_test::with_workers(GetParam()).spares(0)}; // no thread relieves the held ones

  /// How many of the tasks that were queued before the coroutine's wait ended have run before it goes on. All
  /// workers are held until `end_wait()` has made it ready, and all but one until it has gone on: a worker
  /// that has taken it may be preempted while others run any number of tasks. Nothing: the wait may have
  /// ended before all workers were held, because they were not by `ends_at`.
  template<class EndWait>
  std::optional<std::size_t> tasks_before(rubato::task<void> wait, EndWait end_wait,
                                          steady_clock::time_point ends_at = rubato::never) {
    gate first, others;
    std::atomic<std::size_t> ran{0};
    std::atomic<unsigned> held{0};
    std::atomic<bool> begun{false};
    auto const waits = [&](rubato::task<void> w) -> rubato::task<std::size_t> {
      begun = true;
      co_await std::move(w);
      co_return ran.load();
    };
    auto handler = pool.spawn(waits(std::move(wait)));
    EXPECT_TRUE(eventually([&] { return begun.load(); })); // once its worker is held, it waits
    std::vector<rubato::future<bool>> holders;
    for (unsigned i = 0; i != GetParam(); ++i)
      holders.push_back(pool.spawn_on(i, [&, i] { return ++held, (i == 0 ? first : others).wait(); }));
    EXPECT_TRUE(eventually([&] { return held == GetParam(); }));
    bool const in_time = steady_clock::now() < ends_at;
    if (in_time) {
      for (std::size_t i = 0; i != backlog; ++i) pool.enqueue([&] { ++ran; });
      end_wait();
      EXPECT_TRUE(eventually([&] { return pool.stats().queued == backlog + 1; }));
    }
    first.open();
    std::size_t const before = handler.get();
    others.open();
    for (auto& f : holders) EXPECT_TRUE(f.get());
    pool.wait_idle();
    if (!in_time) return std::nullopt;
    EXPECT_EQ(ran, backlog);
    return before;
  }
};
RUBATO_TEST_WITH_WORKERS(event_lane, counts_with_workers);

TEST_P(event_lane, an_event_passes_a_backlog) {
  ends const p = make_pipe();
  auto const waits = [](int fd) -> rubato::task<void> { co_await rubato::readable(fd); };
  EXPECT_LT(tasks_before(waits(p.a.get()), [&] { rubato_test::put(p.b, "x"); }).value(), 5'000);
  rubato::forget(p.a.get());
}
TEST_P(event_lane, a_deadline_passes_a_backlog) {
  auto const sleeps = [](steady_clock::time_point t) -> rubato::task<void> {
    co_await rubato::sleep_until(t);
  };
  std::optional<std::size_t> before;
  for (auto lead = 20ms; !before; lead *= 2) { // the workers must be held by then
    auto const due = steady_clock::now() + lead;
    before = tasks_before(sleeps(due), [] {}, due);
  }
  EXPECT_LT(*before, 5'000);
}

/// Events follow each other without end; tasks of the injector still get their turn.
TEST_P(event_lane, does_not_keep_the_injector_waiting) {
  ends const there = rubato_test::make_pair();
  std::atomic<bool> over{false};
  auto const rally = [](int fd, std::atomic<bool>& stop) -> rubato::task<void> {
    while (!stop) {
      co_await rubato::readable(fd);
      char c = 0;
      EXPECT_EQ(::read(fd, &c, 1), 1);
      EXPECT_EQ(::write(fd, &c, 1), 1);
    }
  };
  auto left = pool.spawn(rally(there.a.get(), over)), right = pool.spawn(rally(there.b.get(), over));
  rubato_test::put(there.a, "x");
  for (int i = 0; i != 1'000; ++i) pool.spawn([] {}).get();
  over = true;
  rubato_test::put(there.a, "x"); // a second ball, for the one that waits when the other has stopped
  rubato_test::put(there.b, "x");
  left.get(), right.get();
  rubato::forget(there.a.get());
  rubato::forget(there.b.get());
}

} // namespace
