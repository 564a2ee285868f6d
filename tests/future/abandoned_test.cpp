// What becomes of the failure of work whose future was detached or dropped.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

/// A pool that adds up the failures passed to on_unhandled; other exceptions count as -1000.
class abandoned : public testing::TestWithParam<unsigned> {
protected:
  hang_guard guard;
  std::atomic<int> told{0};
  std::optional<rubato::pool> kept{std::in_place, options()};
  rubato::pool& pool = *kept;

  abandoned() {
    if (GetParam() == 0) pool.resize(0);
  }
  rubato::pool_options options() {
    unsigned const workers = std::max(1U, GetParam());
    return rubato::pool_options().workers(workers).on_unhandled([this](std::exception_ptr const& e) {
      int const n = failure_of([&e] { std::rethrow_exception(e); });
      told += n < 0 ? -1'000 : n;
    });
  }
  [[nodiscard]] bool has_workers() const { return GetParam() != 0; }
};
RUBATO_TEST_WITH_WORKERS(abandoned, all_counts);

rubato::task<int> fails_later(int n) {
  co_await rubato::yield();
  throw failure(n);
}

TEST_P(abandoned, regression_a_detached_failure_is_told) {
  pool.spawn([]() -> int { throw failure(1); }).detach();
  pool.spawn(fails_later(20)).detach();
  pool.spawn([] { return 1; }).then([](int) { throw failure(300); }).detach();
  pool.spawn([]() -> int { throw failure(4'000); }).then([](int n) { return n; }).detach();
  pool.spawn([this] { return pool.spawn([] { throw failure(50'000); }); }).detach();
  rubato::strand s(pool);
  s.spawn([] { throw failure(600'000); }).detach();
  pool.wait_idle();
  EXPECT_EQ(told, 654'321);
}

TEST_P(abandoned, regression_a_failure_before_detach_is_told) {
  auto f = pool.spawn([]() -> int { throw failure(7); });
  f.wait();
  f.detach();
  EXPECT_FALSE(f.valid());
  auto all = rubato::when_all(pool.spawn([] { throw failure(10); }), pool.spawn([] {}));
  all.wait();
  all.detach();
  pool.wait_idle();
  EXPECT_EQ(told, 17);
}

TEST_P(abandoned, detached_work_stopped_or_dropped_has_not_failed) {
  if (!has_workers()) return; // nothing would begin
  auto stopped = pool.spawn([](std::stop_token t) {
    while (!t.stop_requested()) std::this_thread::yield();
    throw rubato::cancelled();
  });
  auto const c = stopped.canceller();
  stopped.detach();
  c.cancel();
  rubato::promise<void> never;
  rubato::shared_future<void> const never_set = never.get_future();
  auto const suspended = [](rubato::shared_future<void> until) -> rubato::task<int> {
    co_await until;
    co_return 1;
  };
  pool.spawn(suspended(never_set)).then([](int n) { return n; }).detach();
  pool.spawn(suspended(never_set)).then([](rubato::future<int> f) { return f.get(); }).detach();
  pool.spawn([&] { return pool.spawn(suspended(never_set)); }).detach();
  rubato::when_all(pool.spawn(suspended(never_set)), pool.spawn(suspended(never_set))).detach();
  rubato::when_any(pool.spawn(suspended(never_set)), pool.spawn(suspended(never_set))).detach();
  pool.spawn([]() -> rubato::task<void> { co_await rubato::sleep_for(1h); }).then([] {}).detach();
  pool.wait_idle(1ms);
  pool.shutdown();
  EXPECT_EQ(told, 0);
}

TEST_P(abandoned, a_wait_that_a_discard_ends_has_not_failed) {
  if (!has_workers()) return;
  rubato::promise<int> never;
  gate begun;
  pool.spawn([&begun, f = never.get_future()]() mutable {
        begun.open();
        return f.get();
      })
      .detach();
  begun.wait();
  pool.shutdown(rubato::discard);
  EXPECT_EQ(told, 0);
}

TEST_P(abandoned, what_a_discard_drops_has_not_failed) {
  gate begun;
  auto blocker = pool.spawn([&](std::stop_token t) {
    begun.open();
    while (!t.stop_requested()) std::this_thread::yield();
  });
  if (has_workers()) begun.wait();
  pool.spawn([] { throw failure(1); }).then([] {}).detach();
  for (int i = 0; i != 50; ++i) {
    pool.spawn([] { return 1; })
        .then([](int n) { return n; })
        .then([](rubato::future<int> f) { f.get(); })
        .detach();
    auto const dropped = pool.spawn([] { return 1; });
  }
  pool.shutdown(rubato::discard);
  EXPECT_TRUE(told == 0 || told == 1) << told; // a second worker may have run the one that fails
}

TEST_P(abandoned, regression_failures_of_dropped_work_are_told) {
  if (!has_workers()) return;
  gate begun;
  gate dropped;
  {
    auto const f = pool.spawn([&] {
      begun.open();
      dropped.wait();
      throw failure(5);
    });
    begun.wait();
  }
  dropped.open();
  pool.wait_idle();
  EXPECT_EQ(told, 5);
}

TEST_P(abandoned, regression_the_failure_of_a_dropped_chain_is_told) {
  if (!has_workers()) return;
  gate begun;
  gate dropped;
  {
    auto const f = pool.spawn([&]() -> int {
                         begun.open();
                         dropped.wait();
                         throw failure(6);
                       })
                       .then([](int n) { return n; })
                       .then([](int n) { return n; });
    begun.wait();
  }
  dropped.open();
  pool.wait_idle();
  EXPECT_EQ(told, 6);
}

TEST_P(abandoned, regression_a_ready_failure_that_is_dropped_is_told) {
  {
    auto const f = pool.spawn([]() -> int { throw failure(8); });
    f.wait();
  }
  auto g = pool.spawn([]() -> int { throw failure(20); });
  g.wait();
  g = {};
  pool.wait_idle();
  EXPECT_EQ(told, 28);
}

TEST_P(abandoned, a_failure_that_was_brought_is_not_told) {
  auto f = pool.spawn([]() -> int { throw failure(1); });
  EXPECT_EQ(failure_of([&] { f.get(); }), 1);
  auto shared = pool.spawn([]() -> int { throw failure(2); }).share();
  EXPECT_EQ(failure_of([&] { shared.get(); }), 2);
  shared = {};
  auto const handled = pool.spawn([]() -> int { throw failure(3); }).then([](rubato::future<int> g) {
    return failure_of([&] { g.get(); });
  });
  handled.wait();
  auto const submitted = pool.submit([]() -> int { throw failure(4); });
  pool.wait_idle();
  EXPECT_EQ(told, 0);
}

TEST_P(abandoned, a_dropped_future_of_cancelled_work_is_not_told) {
  for (int i = 0; i != 20; ++i) {
    auto const f = pool.spawn([](std::stop_token t) {
      if (t.stop_requested()) throw rubato::cancelled();
    });
    auto const g = pool.spawn([]() -> rubato::task<void> { co_await rubato::sleep_for(1h); }).then([] {});
  }
  auto ready = pool.spawn([] { throw rubato::cancelled(); });
  ready.wait();
  ready = {};
  pool.wait_idle();
  EXPECT_EQ(told, 0);
}

TEST_P(abandoned, losers_and_inputs_are_not_told) {
  if (GetParam() < 2) return; // they run beside what decides
  for (int round = 0; round != 20; ++round) {
    std::atomic<int> begun{0};
    gate decided;
    auto const loser = [&] {
      ++begun;
      decided.wait();
      throw failure(1);
    };
    auto const all_begin = [&](int n) { return eventually([&begun, n] { return begun == n; }); };
    rubato::promise<void> p;
    auto any = rubato::when_any(pool.spawn(loser), p.get_future());
    ASSERT_TRUE(all_begin(1));
    p.set_value();
    any.get();
    rubato::promise<void> q;
    auto all = rubato::when_all(pool.spawn(loser), q.get_future());
    q.set_exception(failure(2));
    decided.open();
    EXPECT_EQ(failure_of([&] { all.get(); }), 2);
    pool.wait_idle();
    EXPECT_EQ(told, 0);
  }
}

TEST_P(abandoned, futures_that_the_library_drops_are_not_told) {
  if (GetParam() < 2) return;
  for (int round = 0; round != 20; ++round) {
    gate begun;
    gate late;
    auto const slow = [&]() -> int {
      begun.open();
      late.wait();
      throw failure(1);
    };
    auto limited = pool.spawn([&]() -> rubato::task<bool> {
      auto work = pool.spawn(slow);
      begun.wait();
      auto limit = rubato::with_deadline(std::move(work), 1us);
      auto const r = co_await std::move(limit);
      co_return r.has_value();
    });
    EXPECT_FALSE(limited.get());
    late.open();
    pool.wait_idle();

    gate also_begun;
    gate also_late;
    auto raced = pool.spawn([&]() -> rubato::task<void> {
      auto work = pool.spawn([&]() -> int {
        also_begun.open();
        also_late.wait();
        throw failure(1);
      });
      also_begun.wait();
      auto first = rubato::when_first(std::move(work), rubato::sleep_for(0s));
      static_cast<void>(co_await std::move(first));
    });
    raced.get();
    also_late.open();
    pool.wait_idle();
    EXPECT_EQ(told, 0);
  }
}

TEST_P(abandoned, promises_are_not_told) {
  rubato::promise<int> a;
  a.get_future().detach();
  a.set_exception(failure(1));
  rubato::promise<int> b;
  {
    auto const f = b.get_future();
  }
  b.set_exception(failure(1));
  rubato::make_exceptional_future<int>(failure(1)).detach();
  {
    auto const f = rubato::make_exceptional_future<int>(failure(1));
  }
  pool.wait_idle();
  EXPECT_EQ(told, 0);
}

/// The promise is not told, but work that comes to nothing because of it is.
TEST_P(abandoned, work_that_a_broken_promise_ends_is_told) {
  std::optional<rubato::promise<int>> p(std::in_place);
  pool.spawn([f = p->get_future()]() mutable { return std::move(f); }).detach();
  pool.wait_idle();
  p.reset();
  pool.wait_idle();
  EXPECT_EQ(told, -1'000);
}

TEST_P(abandoned, a_future_whose_pool_is_gone_is_not_told) {
  auto failed = pool.spawn([]() -> int { throw failure(1); });
  failed.wait();
  rubato::promise<int> p;
  auto pending = pool.spawn([f = p.get_future()]() mutable { return std::move(f); });
  pool.wait_idle();
  auto other = pool.spawn([]() -> int { throw failure(2); });
  other.wait();
  kept.reset();
  failed.detach();
  other = {};
  pending.detach();
  p.set_exception(failure(3));
  EXPECT_EQ(told, 0);
}

TEST_P(abandoned, a_failure_that_races_with_its_detach_is_told_once) {
  std::size_t const rounds = scaled(2'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    auto f = pool.spawn([]() -> int { throw failure(1); });
    if (i % 3 != 0) f.wait_for(std::chrono::microseconds(i % 5));
    f.detach();
  }
  pool.wait_idle();
  EXPECT_EQ(told, static_cast<int>(rounds));
}

/// The drop may come between the two looks of a continuation that begins.
TEST_P(abandoned, regression_a_failure_beside_a_drop_is_told_once) {
  if (!has_workers()) return; // the drop comes before all others
  for (std::size_t round = 0; round != scaled(500); ++round) {
    std::atomic<bool> begun = false;
    auto chain = pool.spawn([&]() -> int {
                       begun = true;
                       throw failure(1);
                     })
                     .then([](int n) { return n; });
    while (!begun) std::this_thread::yield();
    for (std::size_t k = 0; k != round % 97 * 10; ++k) std::atomic_signal_fence(std::memory_order_seq_cst);
    {
      auto const dropped = std::move(chain);
    }
    EXPECT_TRUE(pool.wait_idle());
    ASSERT_EQ(told.exchange(0), 1) << "in round " << round;
  }
}

TEST(abandoned_work, without_a_handler_a_drop_is_silent) {
  hang_guard const guard;
  rubato::pool pool(2);
  gate begun;
  gate dropped;
  {
    auto const f = pool.spawn([&] {
      begun.open();
      dropped.wait();
      throw failure(1);
    });
    begun.wait();
  }
  dropped.open();
  {
    auto const ready = pool.spawn([] { throw failure(1); });
    ready.wait();
  }
  pool.wait_idle();
}

TEST(abandoned_death, regression_detached_failures_end_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        rubato::pool pool(2);
        pool.spawn([] { throw std::runtime_error("lost"); }).detach();
        pool.wait_idle();
      },
      "a task threw: lost");
}

} // namespace
