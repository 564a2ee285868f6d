// How coroutines and their children end: when they return, are stopped or discarded, or their pool ends.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/scale.hpp"

namespace {

using namespace std::chrono_literals;
using rubato_test::failure;
using rubato_test::failure_of;
using rubato_test::outcome;
using rubato_test::outcome_of;
using rubato_test::outcome_of_get;
using rubato_test::scaled;

rubato::task<void> receives(rubato::channel<int>& from) {
  for (bool more = true; more;) {
    auto const got = co_await from.receive();
    more = got.has_value();
  }
}

TEST(lifetime, regression_a_dying_pool_drops_scope_members_first) {
  for (int round = 0; round != 20; ++round) {
    rubato::channel<int> never_sent(0);
    rubato::pool pool(2);
    auto f = pool.spawn(rubato::with_async_scope(
        [](rubato::scope& s, rubato::channel<int>* ch) -> rubato::task<> {
          for (int i = 0; i != 20; ++i) s.spawn(receives(*ch));
          co_await ch->receive();
        },
        &never_sent));
    if (round % 2 != 0) pool.wait_idle();
    pool.shutdown(rubato::drain);
    EXPECT_TRUE(f.ready());
  }
}

rubato::task<void> yields(int times) {
  for (int i = 0; i != times; ++i) co_await rubato::yield();
}

TEST(lifetime, regression_a_discard_takes_children_before_parents) {
  auto const for_ever = []() -> rubato::task<> {
    for (;;) {
      static_cast<void>(co_await rubato::with_deadline(yields(5), 100s));
      static_cast<void>(co_await rubato::when_all(yields(3), yields(4), yields(5)));
      static_cast<void>(co_await rubato::when_any(yields(3), yields(4)));
      co_await rubato::with_async_scope([](rubato::scope& s) -> rubato::task<> {
        s.spawn(yields(2));
        s.spawn([] {});
        co_await rubato::yield();
      });
    }
  };
  for (int round = 0; round != 30; ++round) {
    rubato::pool pool(1U + static_cast<unsigned>(round) % 3);
    std::vector<rubato::future<void>> all;
    for (int i = 0; i != 10; ++i) all.push_back(pool.spawn(for_ever()));
    all.front().wait_for(std::chrono::microseconds(100 * round));
    pool.shutdown(rubato::discard);
    for (auto& f : all) EXPECT_TRUE(f.ready());
  }
}

TEST(lifetime, regression_a_coroutine_stays_where_it_moved_to) {
  rubato::pool there(1);
  rubato::pool here(rubato::pool_options().workers(1).spares(0));
  auto was_there = here.spawn([&] {
    auto const moves = [&]() -> rubato::task<bool> {
      co_await rubato::resume_on(there);
      co_await rubato::sleep_for(5ms);
      co_return rubato::current_pool() == &there;
    };
    return rubato::spawn(moves()).get(); // claimed, while this is the only thread that could pop its entry
  });
  EXPECT_TRUE(was_there.get());
}

TEST(lifetime, regression_a_scope_stop_reaches_a_returned_future) {
  rubato::pool pool(2);
  auto const work = [] {
    rubato::with_scope([](rubato::scope& s) {
      s.spawn([] { return rubato::spawn([]() -> rubato::task<> { co_await rubato::sleep_for(1000s); }()); });
      s.spawn([]() -> rubato::task<> {
        co_await rubato::sleep_for(5ms);
        throw failure(3);
      });
    });
  };
  EXPECT_EQ(failure_of([&] { pool.run(work); }), 3);
}

TEST(lifetime, regression_what_a_stop_callback_ends_may_go_at_once) {
  rubato::pool pool(2);
  for (int round = 0; round != 100; ++round) {
    rubato::promise<void> p;
    std::atomic<bool> begun{false};
    auto const body = [&](rubato::scope& s) {
      s.spawn([&](std::stop_token t) {
        auto whole = p.get_future();
        auto const breaks = std::make_shared<std::stop_callback<std::function<void()>>>(
            t, std::function<void()>([&] { p.set_exception(failure(2)); }));
        begun = true;
        return std::move(whole).then([breaks](rubato::future<void> f) { f.get(); });
      });
      while (!begun) std::this_thread::yield();
      throw failure(1);
    };
    EXPECT_EQ(failure_of([&] { pool.run([&] { rubato::with_scope(body); }); }), 1);
  }
}

TEST(lifetime, regression_get_after_shutdown_drives_the_pool) {
  rubato::pool pool(1);
  auto const before = pool.spawn([] { return 1; }).share();
  pool.shutdown();
  EXPECT_EQ(before.get(), 1);
  EXPECT_EQ(before.then([](int const& v) { return v + 1; }).get(), 2);
  EXPECT_THROW(static_cast<void>(pool.spawn([] { return 3; })), rubato::cancelled);
}

/// Queues f as a continuation, which a closed pool does not refuse.
template<class F>
auto continue_in(rubato::pool& closed, F f) {
  rubato::promise<void> ready;
  auto result = ready.get_future().then(closed, std::move(f));
  ready.set_value();
  return result;
}

TEST(lifetime, regression_a_closed_pool_may_go_beside_its_driver) {
  rubato::promise<int> p;
  auto pool = std::make_unique<rubato::pool>(1);
  pool->shutdown();
  std::atomic<bool> drives{false};
  std::thread waits([&] {
    auto whole = continue_in(*pool, [&] {
      drives = true;
      return p.get_future();
    });
    EXPECT_EQ(whole.get(), 4);
  });
  while (!drives) std::this_thread::yield();
  pool.reset();
  p.set_value(4);
  waits.join();
}

/// It is driven until it waits for p; then its wait is over, and it is queued.
rubato::future<int> queued_in(rubato::pool& closed, rubato::promise<int>& p) {
  auto waits = continue_in(
      closed, [f = p.get_future()]() mutable -> rubato::task<int> { co_return co_await std::move(f); });
  continue_in(closed, [] {}).get();
  p.set_value(4);
  return waits;
}

TEST(lifetime, regression_a_drain_of_a_closed_pool_keeps_its_queue) {
  rubato::pool pool(1);
  pool.shutdown();
  rubato::promise<int> p, q;
  auto resumed = queued_in(pool, p);
  auto waits = continue_in(
      pool, [f = q.get_future()]() mutable -> rubato::task<int> { co_return co_await std::move(f); });
  std::vector<int> ran;
  for (int i = 0; i != 3; ++i) continue_in(pool, [&ran, i] { ran.push_back(i); }).detach();
  pool.shutdown(rubato::drain);
  EXPECT_TRUE(pool.shutdown(rubato::drain, 1ms));
  EXPECT_TRUE(ran.empty());
  pool.resize(1);
  q.set_value(5);
  EXPECT_EQ(resumed.get(), 4);
  EXPECT_EQ(waits.get(), 5);
  pool.wait_idle();
  EXPECT_EQ(ran, (std::vector{0, 1, 2}));
}

TEST(lifetime, regression_a_discard_of_a_closed_pool_empties_it) {
  rubato::pool pool(1);
  pool.shutdown();
  rubato::promise<int> p;
  auto dropped = queued_in(pool, p);
  pool.shutdown(rubato::discard);
  EXPECT_EQ(outcome_of_get(dropped), outcome::broken);
  EXPECT_EQ(pool.pending(), 0U);
}

TEST(lifetime, regression_a_closed_pool_may_go_with_queued_work) {
  rubato::promise<int> p;
  auto pool = std::make_unique<rubato::pool>(1);
  pool->shutdown();
  auto dropped = queued_in(*pool, p);
  pool.reset();
  EXPECT_EQ(outcome_of_get(dropped), outcome::broken);
}

TEST(lifetime, regression_a_closed_pool_drops_an_unbegun_child) {
  auto pool = std::make_unique<rubato::pool>(1);
  pool->shutdown();
  bool ran = false;
  auto const body = [&ran](rubato::scope& s) -> rubato::task<void> {
    s.spawn([&ran] { ran = true; });
    co_return;
  };
  auto around = continue_in(*pool, [&body] { return rubato::with_async_scope(body); });
  continue_in(*pool, [] {}).get(); // driven until the scope waits for its child
  pool.reset();
  EXPECT_FALSE(ran);
  EXPECT_NE(outcome_of_get(around), outcome::value);
}

TEST(lifetime, regression_waits_drive_a_pool_without_workers) {
  rubato::pool idle(rubato::no_workers);
  rubato::pool third(1);
  EXPECT_EQ(idle.spawn([] { return 1; }).then(third, [](int v) { return v + 1; }).get(), 2);
  EXPECT_EQ(third.spawn([] { return 1; }).then(idle, [](int v) { return v + 1; }).get(), 2);
  auto const both = [&] {
    return rubato::when_all(third.spawn([] { return 1; }), idle.spawn([] { return 2; })).get();
  };
  EXPECT_EQ(std::get<1>(both()), 2);
  EXPECT_EQ(std::get<1>(third.spawn(both).get()), 2);
}

TEST(lifetime, regression_waiters_without_workers_do_not_nest) {
  // Each would run the next one in its own wait: the stack of ten thousand waits in a debug build.
  rubato::pool pool(rubato::no_workers);
  std::vector<rubato::future<int>> waiters;
  for (int i = 0; i != 20'000; ++i)
    waiters.push_back(pool.spawn([&pool, i] { return pool.spawn([i] { return i; }).get(); }));
  for (int i = 0; i != 20'000; ++i) ASSERT_EQ(waiters[static_cast<std::size_t>(i)].get(), i);
}

rubato::task<void> nested(std::size_t depth, rubato::shared_future<void> f) {
  if (depth == 0)
    co_await f;
  else
    co_await nested(depth - 1, f);
}

TEST(lifetime, regression_a_deep_recursion_ends_on_a_small_stack) {
  rubato::promise<void> never;
  rubato::future<void> f;
  {
    rubato::pool pool(1);
    f = pool.spawn(nested(scaled(200'000), never.get_future().share()));
    pool.wait_idle();
  }
  EXPECT_THROW(f.get(), std::future_error);
}

rubato::task<void> awaits_by_reference(rubato::task<void>& t) { co_await t; }

TEST(lifetime, regression_a_task_awaited_by_reference_ends_once) {
  rubato::channel<int> never_sent(0);
  rubato::pool pool(1);
  auto f = pool.spawn([&]() -> rubato::task<void> {
    rubato::task<void> own = receives(never_sent);
    co_await awaits_by_reference(own);
  });
  pool.wait_idle();
  pool.shutdown(rubato::drain);
  EXPECT_EQ(outcome_of_get(f), outcome::broken);
}

TEST(lifetime, regression_a_task_is_awaited_once) {
  auto const twice = []() -> rubato::task<void> {
    rubato::task<void> own = yields(1);
    co_await own;
    co_await own;
  };
  EXPECT_THROW(rubato::block_on(twice()), std::logic_error);
}

TEST(lifetime, regression_with_scopes_in_scopes_are_discarded_once) {
  auto const inner = [](rubato::scope& s, int n) -> rubato::task<void> {
    s.spawn(yields(n));
    static_cast<void>(co_await rubato::when_any(yields(n), yields(n + 1)));
    co_await yields(1'000'000'000);
  };
  auto const outer = [&inner](rubato::scope& s, int n) -> rubato::task<void> {
    s.spawn(yields(n));
    co_await rubato::with_async_scope(inner, n);
  };
  for (std::size_t round = 0; round != scaled(200); ++round) {
    rubato::pool pool(4);
    std::vector<rubato::future<void>> all;
    for (int i = 0; i != 40; ++i) all.push_back(pool.spawn(rubato::with_async_scope(outer, 2 + i % 5)));
    all.front().wait_for(std::chrono::microseconds(round * 7 % 400));
    pool.shutdown(rubato::discard);
    for (auto& f : all) ASSERT_TRUE(f.ready());
  }
}

TEST(lifetime, regression_cancelled_while_a_pool_drains_end_once) {
  auto const body = [](rubato::scope& /*s*/, rubato::channel<int>* ch) -> rubato::task<void> {
    co_await receives(*ch);
  };
  for (std::size_t round = 0; round != scaled(500); ++round) {
    rubato::channel<int> never_sent(0);
    std::vector<rubato::future<void>> all;
    rubato::pool pool(1);
    for (int i = 0; i != 20; ++i) all.push_back(pool.spawn(rubato::with_async_scope(body, &never_sent)));
    pool.wait_idle();
    std::thread cancels([&] {
      for (auto& f : all) f.cancel();
    });
    pool.shutdown();
    cancels.join();
    for (auto& f : all) ASSERT_TRUE(f.ready());
  }
}

TEST(lifetime, regression_a_child_leaves_the_list_within_a_stop) {
  for (int round = 0; round != 20; ++round) {
    rubato::pool pool(2);
    auto const work = [] {
      rubato::promise<void> p;
      std::atomic<bool> begun{false};
      std::optional<std::stop_callback<std::function<void()>>> first;
      std::optional<std::stop_callback<std::function<void()>>> breaks;
      rubato::with_scope([&](rubato::scope& s) {
        s.spawn([&] {
          return rubato::spawn([&](std::stop_token t) {
            first.emplace(t, [] {});
            breaks.emplace(t, [&] { p.set_exception(failure(2)); });
            begun = true;
            return p.get_future();
          });
        });
        while (!begun) std::this_thread::yield();
        throw failure(1);
      });
    };
    EXPECT_EQ(failure_of([&] { pool.run(work); }), 1);
  }
}

TEST(lifetime, regression_when_any_needs_no_input_that_never_comes) {
  rubato::promise<int> never;
  rubato::pool first(rubato::no_workers);
  rubato::pool third(1);
  auto const waits = [&] { return never.get_future(); };
  EXPECT_EQ(rubato::when_any(first.spawn(waits), third.spawn([] { return 2; })).get().index, 1U);
}

rubato::task<void> moves_to(rubato::pool& to) { co_await rubato::resume_on(to); }

TEST(lifetime, regression_a_discard_ends_parents_in_other_pools) {
  rubato::channel<int> never_sent(0);
  rubato::pool stays(1);
  rubato::pool ends(1);
  auto f = stays.spawn(
      [&]() -> rubato::task<void> { co_await rubato::when_all(moves_to(ends), receives(never_sent)); });
  stays.wait_idle();
  ends.wait_idle();
  ends.shutdown(rubato::discard);
  EXPECT_TRUE(f.ready());
}

TEST(lifetime, regression_a_deadline_that_is_discarded_has_come) {
  rubato::channel<int> never_sent(0);
  rubato::pool pool(2);
  std::atomic<bool> begun{false};
  std::atomic<bool> ended{false};
  pool.enqueue([&] {
    begun = true;
    static_cast<void>(
        outcome_of([&] { rubato::block_on(rubato::with_deadline(receives(never_sent), 1000s)); }));
    ended = true;
  });
  while (!begun) std::this_thread::yield();
  pool.shutdown(rubato::discard);
  EXPECT_TRUE(ended);
}

TEST(lifetime, regression_group_members_stay_in_their_pool) {
  rubato::pool home(3);
  rubato::pool other(1);
  std::atomic<int> strayed{0};
  auto const stays = [&]() -> rubato::task<void> {
    co_await rubato::yield();
    if (rubato::current_pool() != &home) ++strayed;
  };
  auto const body = [&]() -> rubato::task<void> {
    for (int i = 0; i != 100; ++i) {
      co_await rubato::when_all(moves_to(other), stays());
      co_await rubato::resume_on(home);
    }
  };
  for (std::size_t round = 0; round != scaled(50); ++round) home.block_on(body());
  EXPECT_EQ(strayed, 0);
}

TEST(lifetime, regression_members_on_their_way_keep_a_pool_busy) {
  rubato::pool pool(2);
  auto const works = [](int n) -> rubato::task<int> {
    int volatile sum = 0;
    for (int i = 0; i != n; ++i) sum = sum + i;
    co_return sum;
  };
  auto const body = [&]() -> rubato::task<void> {
    for (int i = 0; i != 200; ++i) co_await rubato::when_all(works(0), works(2'000));
  };
  for (std::size_t round = 0; round != scaled(50); ++round) {
    auto f = pool.spawn(body());
    pool.wait_idle();
    ASSERT_TRUE(f.ready());
  }
}

rubato::task<int> one() { co_return 1; }

TEST(lifetime, regression_when_all_copies_a_shared_result) {
  auto const body = []() -> rubato::task<int> {
    auto const [a, b] = co_await rubato::when_all(one(), rubato::make_ready_future(3).share());
    static_assert(std::is_same_v<decltype(b), int const>);
    co_return a + b;
  };
  rubato::pool pool(1);
  EXPECT_EQ(pool.block_on(body()), 4);
}

rubato::task<int> sleeps_often() {
  for (int i = 0; i != 1'000; ++i) co_await rubato::sleep_for(1us);
  co_return 1;
}
rubato::task<void> lets_them_race() { co_await rubato::when_any(sleeps_often(), sleeps_often()); }

/// For the sanitizer of races: a child that ends leaves its parent's scope.
TEST(lifetime, regression_a_discard_ignores_what_is_being_left) {
  for (int round = 0; round != static_cast<int>(scaled(40)); ++round) {
    std::vector<rubato::future<void>> all;
    rubato::pool pool(2);
    for (int i = 0; i != 50; ++i) all.push_back(pool.spawn(lets_them_race()));
    std::this_thread::sleep_for(std::chrono::microseconds(round * 50));
    pool.shutdown(rubato::discard);
  }
}

/// It took a time that grew with the square of their number.
TEST(lifetime, regression_a_pool_ends_with_many_that_wait) {
  auto const n = static_cast<std::size_t>(scaled(100'000));
  std::vector<rubato::promise<void>> never(n);
  std::vector<rubato::future<void>> all;
  {
    rubato::pool pool(2);
    for (auto& p : never)
      all.push_back(pool.spawn([](rubato::future<void> f) -> rubato::task<void> { co_await std::move(f); },
                               p.get_future()));
    pool.wait_idle();
  }
  for (auto& f : all) EXPECT_EQ(outcome_of_get(f), outcome::broken);
}

/// Each that left was looked for from the newest on.
TEST(lifetime, regression_many_waiters_of_one_future_are_stopped) {
  rubato::promise<int> never;
  auto const shared = never.get_future().share();
  std::atomic<std::size_t> begun = 0, left = 0;
  auto const waits = [&](rubato::shared_future<int> f) -> rubato::task<void> {
    ++begun;
    try {
      co_await f;
    } catch (rubato::cancelled const&) {
      ++left;
    }
  };
  auto const n = static_cast<std::size_t>(scaled(200'000));
  rubato::pool pool(2);
  rubato::with_scope(pool, [&](rubato::scope& s) {
    for (std::size_t i = 0; i != n; ++i) s.spawn(waits(shared));
    while (begun != n) std::this_thread::yield();
    s.request_stop();
  });
  EXPECT_EQ(left, n);
}

} // namespace
