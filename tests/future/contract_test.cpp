// Details of the public contract: results of every kind, deadlines, counters, and waits of stopped tasks.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <ranges>
#include <sstream>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace {

using namespace std::chrono_literals;
using rubato_test::eventually;
using rubato_test::gate;
using rubato_test::outcome;
using rubato_test::outcome_of;
using rubato_test::outcome_of_get;
using rubato_test::scaled;

TEST(contract, regression_ready_futures_of_a_given_type) {
  EXPECT_EQ(rubato::make_ready_future<int>(5).get(), 5);
  EXPECT_EQ(rubato::make_ready_future<std::string>("text").get(), "text");
  EXPECT_EQ(rubato::make_ready_future<std::string>(std::string("text")).get(), "text");
  int x = 1;
  EXPECT_EQ(&rubato::make_ready_future<int&>(x).get(), &x);
  static_assert(std::is_same_v<decltype(rubato::make_ready_future(x)), rubato::future<int>>);
  rubato::make_ready_future<void>().get();
}

TEST(contract, regression_values_in_braces) {
  rubato::pool pool(1);
  auto const pair = []() -> rubato::task<std::pair<int, int>> { co_return {1, 2}; };
  EXPECT_EQ(pool.block_on(pair()), std::pair(1, 2));
  rubato::promise<std::vector<int>> p;
  auto f = p.get_future();
  p.set_value({1, 2, 3});
  EXPECT_EQ(f.get(), (std::vector<int>{1, 2, 3}));
}

TEST(contract, regression_scopes_and_contexts_await_returned_work) {
  rubato::pool pool(2);
  std::atomic<int> ended{0};
  auto const later = [&]() -> rubato::task<int> {
    co_await rubato::sleep_for(1ms);
    ++ended;
    co_return 7;
  };
  EXPECT_EQ(rubato::with_scope(pool, [&](rubato::scope&) { return later(); }), 7);
  EXPECT_EQ(rubato::with_context(pool, [&](rubato::context&) { return later(); }), 7);
  EXPECT_EQ(pool.run([&] { return rubato::with_context([&](rubato::context&) { return later(); }); }), 7);
  EXPECT_EQ(rubato::with_scope(pool, [&](rubato::scope&) { return pool.spawn(later()); }), 7);
  EXPECT_EQ(ended, 4);
}

TEST(contract, regression_loops_take_move_only_elements) {
  rubato::pool pool(2);
  std::atomic<int> sum{0};
  std::istringstream text("1 2 3 4 5");
  rubato::for_each(pool, std::views::istream<int>(text) | std::views::transform([](int i) {
                           return std::make_unique<int>(i);
                         }),
                   [&sum](std::unique_ptr<int> i) { sum += *i; });
  std::istringstream again("1 2 3 4 5");
  rubato::for_each(pool, std::views::istream<int>(again) | std::views::transform([](int i) {
                           return std::make_unique<int>(i);
                         }),
                   [&sum](std::unique_ptr<int>&& i) { sum += *i; });
  EXPECT_EQ(sum, 30);
}

TEST(contract, regression_list_reductions_run_on_the_pool_and_stop) {
  rubato::pool pool(2);
  std::list<int> const numbers{1, 2, 3};
  std::atomic<int> elsewhere{0};
  auto const map = [&](int i) {
    if (rubato::current_pool() != &pool) ++elsewhere;
    return i;
  };
  EXPECT_EQ(rubato::reduce(pool, numbers, 0, std::plus<>{}, map), 6);
  EXPECT_EQ(elsewhere, 0);
  int mapped = 0;
  gate begun, go;
  auto f = pool.spawn([&] {
    begun.open();
    EXPECT_TRUE(go.wait());
    return rubato::reduce(numbers, 0, std::plus<>{}, [&](int i) {
      ++mapped;
      return i;
    });
  });
  EXPECT_TRUE(begun.wait());
  f.cancel();
  go.open();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  EXPECT_EQ(mapped, 0);
}

/// Resumes at once, and yields what can only be moved.
struct foreign {
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  static void await_suspend(std::coroutine_handle<> h) { h.resume(); }
  [[nodiscard]] static std::unique_ptr<int> await_resume() { return std::make_unique<int>(3); }
};

TEST(contract, regression_foreign_awaitables_may_yield_move_only) {
  rubato::pool pool(1);
  auto const f = []() -> rubato::task<int> { co_return *co_await foreign(); };
  EXPECT_EQ(pool.block_on(f()), 3);
}

TEST(contract, regression_deadlines_tell_late_channels_from_closed) {
  rubato::pool pool(2);
  auto const f = []() -> rubato::task<> {
    rubato::channel<int> c(0);
    auto const late = co_await rubato::with_deadline(c.receive(), 1ms);
    EXPECT_FALSE(late);
    auto const unsent = co_await rubato::with_deadline(c.send(1), 1ms);
    EXPECT_FALSE(unsent);
    c.close();
    auto const closed = co_await rubato::with_deadline(c.receive(), 1h);
    EXPECT_TRUE(closed);
    EXPECT_EQ(closed.value_or(5), std::nullopt);
    auto const refused = co_await rubato::with_deadline(c.send(1), 1h);
    EXPECT_EQ(refused, std::optional(false));
  };
  pool.block_on(f());
}

TEST(contract, regression_timers_that_fire_are_counted) {
  rubato::pool pool(rubato::pool_options().workers(1).spares());
  std::atomic<bool> ran{false};
  pool.enqueue_after(1ms, [&] { ran = true; });
  pool.block_on(rubato::sleep_for(1ms));
  EXPECT_TRUE(eventually([&] { return ran.load(); }));
  EXPECT_EQ(pool.stats().timers, 2U);
}

/// A wait of a thread ends when what it runs is stopped, as a coroutine's does.
TEST(contract, regression_blocking_waits_of_a_stopped_task_end) {
  rubato::pool pool(2);
  rubato::promise<int> never;
  auto const shared = never.get_future().share();
  auto const ends = [&](auto wait) {
    gate begun;
    auto f = pool.spawn([&] {
      begun.open();
      return wait();
    });
    EXPECT_TRUE(begun.wait());
    f.cancel();
    return outcome_of([&] { EXPECT_FALSE(f.get()); });
  };
  auto const get = [&] { return shared.get() != 0; };
  EXPECT_EQ(ends(get), outcome::cancelled);
  EXPECT_EQ(ends([&] {
              shared.wait();
              return true;
            }),
            outcome::cancelled);
  // A wait with a limit yields false if the stop comes during the wait, and throws if it came before.
  auto const ends_in_time = [&](auto wait) {
    outcome const o = ends(wait);
    return o == outcome::value || o == outcome::cancelled;
  };
  EXPECT_TRUE(ends_in_time([&] { return shared.wait_for(24h); }));
  EXPECT_TRUE(ends_in_time([&] { return shared.wait_until(rubato::never); }));
  EXPECT_EQ(ends([&] { return pool.block_on(shared) != 0; }), outcome::cancelled);
  EXPECT_EQ(ends([&] { return rubato::blocking(get); }), outcome::cancelled);
  EXPECT_EQ(ends([&] { return rubato::join(get, [] {}).first; }), outcome::cancelled);
  never.set_value(1);
}

/// Objects that are lent to the work that a callable returns live until that work ends, whatever is stopped.
TEST(contract, regression_stopped_work_is_still_waited_for) {
  rubato::pool pool(2);
  gate begun, go;
  std::atomic<bool> ended{false};
  auto f = pool.spawn([&] {
    return rubato::blocking([&] {
      return pool.spawn([&] {
        begun.open();
        EXPECT_TRUE(go.wait());
        ended = true;
        return true;
      });
    });
  });
  EXPECT_TRUE(begun.wait());
  f.cancel();
  std::this_thread::yield();
  EXPECT_FALSE(f.ready());
  go.open();
  static_cast<void>(outcome_of_get(f));
  EXPECT_TRUE(ended);
}

TEST(contract, regression_stops_racing_with_the_result) {
  rubato::pool pool(2);
  for (std::size_t round = 0; round != scaled(5'000); ++round) {
    rubato::promise<int> p;
    auto f = pool.spawn([g = p.get_future()]() mutable { return g.get(); });
    {
      std::jthread const stops([&] { f.cancel(); });
      p.set_value(1);
    }
    outcome const how = outcome_of_get(f);
    ASSERT_TRUE(how == outcome::value || how == outcome::cancelled);
  }
}

} // namespace
