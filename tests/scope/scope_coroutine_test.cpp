// Scopes and coroutines: with_scope takes both and lends its frame, with_async_scope blocks no thread.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/tally.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

class coro_scopes : public on_workers {};
RUBATO_TEST_WITH_WORKERS(coro_scopes, all_counts);

rubato::task<void> hits(tally& where, std::size_t i) {
  co_await rubato::yield();
  where.hit(i);
}
rubato::task<void> fails(int n) {
  co_await rubato::yield();
  throw failure(n);
}
rubato::task<void> sleeps_for_ever(std::atomic<int>& ended) {
  struct note {
    std::atomic<int>& count;
    ~note() { ++count; }
  } const at_end{ended};
  co_await rubato::sleep_for(1h);
}

TEST_P(coro_scopes, lend_their_frame) {
  std::size_t const n = scaled(500);
  leak_check const none_left;
  std::size_t const sum = pool.run([&] {
    tally runs(3 * n);
    rubato::with_scope([&](rubato::scope& s) {
      for (std::size_t i = 0; i != n; ++i) {
        s.spawn(hits(runs, 3 * i));
        s.spawn([&runs, i] { runs.hit(3 * i + 1); });
        s.spawn([&runs, i, c = counted(2)]() -> rubato::task<void> {
          co_await rubato::sleep_for(std::chrono::microseconds(i % 50));
          runs.hit(3 * i + static_cast<std::size_t>(c.value));
        });
      }
    });
    runs.expect_each_once();
    return runs.total();
  });
  EXPECT_EQ(sum, 3 * n);
}

TEST_P(coro_scopes, from_outside_the_pool) {
  tally runs(100);
  int const result = rubato::with_scope(pool, [&](rubato::scope& s) {
    for (std::size_t i = 0; i != 100; ++i) s.spawn(hits(runs, i));
    return 5;
  });
  EXPECT_EQ(result, 5);
  runs.expect_each_once();
}

/// A result whose destructor gives the scope around it time to end too early.
class uses_the_frame {
  std::atomic<bool> const* scope_ended_; // null: moved from
  std::atomic<int>* destroyed_too_late_;

public:
  uses_the_frame(std::atomic<bool> const& ended, std::atomic<int>& late) noexcept
      : scope_ended_(&ended)
      , destroyed_too_late_(&late) {}
  uses_the_frame(uses_the_frame&& other) noexcept
      : scope_ended_(std::exchange(other.scope_ended_, nullptr))
      , destroyed_too_late_(other.destroyed_too_late_) {}
  uses_the_frame& operator=(uses_the_frame&&) = delete;
  ~uses_the_frame() {
    if (scope_ended_ == nullptr) return;
    for (int i = 0; i != 50 && !*scope_ended_; ++i) std::this_thread::sleep_for(100us);
    if (*scope_ended_) ++*destroyed_too_late_;
  }
};

TEST_P(coro_scopes, regression_destroy_results_before_they_end) {
  std::atomic<int> late{0};
  auto const gives = [&](std::atomic<bool>& ended) -> rubato::task<uses_the_frame> {
    co_await rubato::yield();
    co_return uses_the_frame(ended, late);
  };
  for (int i = 0; i != 3; ++i) {
    std::atomic<bool> ended{false};
    auto const spawns_all = [&](rubato::scope& s) {
      s.spawn(gives(ended));
      s.spawn([&] { return pool.spawn([&] { return uses_the_frame(ended, late); }); });
      if (GetParam() != 0) s.spawn_on(0, [&] { return uses_the_frame(ended, late); });
    };
    pool.run([&] {
      rubato::with_scope(spawns_all);
      ended = true;
    });
    ended = false;
    auto const body = [&](rubato::scope& s) -> rubato::task<> {
      spawns_all(s);
      co_return;
    };
    auto const whole = [&]() -> rubato::task<> {
      co_await rubato::with_async_scope(body);
      ended = true;
    };
    pool.block_on(whole());
    pool.wait_idle(); // the objects above outlive them, whatever they do
  }
  EXPECT_EQ(late, 0);
}

TEST_P(coro_scopes, wait_for_returned_futures_too) {
  std::atomic<int> done{0};
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      for (int i = 0; i != 20; ++i) s.spawn([&] { return pool.spawn([&] { ++done; }); });
      s.wait();
      EXPECT_EQ(done, 20);
      s.spawn([&] { return pool.spawn([&] { ++done; }); });
    });
    EXPECT_EQ(done, 21);
  });
}

TEST_P(coro_scopes, bring_their_exceptions) {
  EXPECT_EQ(
      failure_of([&] { pool.run([] { rubato::with_scope([](rubato::scope& s) { s.spawn(fails(1)); }); }); }),
      1);
  std::atomic<int> ended{0};
  EXPECT_EQ(failure_of([&] {
              rubato::with_scope(pool, [&](rubato::scope& s) {
                for (int i = 0; i != 5; ++i) s.spawn(sleeps_for_ever(ended));
                s.spawn(fails(2)); // stops the others
              });
            }),
            2);
  int const now = ended;
  pool.wait_idle();
  EXPECT_EQ(ended, now); // all that had begun
}

TEST_P(coro_scopes, stop_their_coroutines_when_their_function_throws) {
  std::atomic<int> ended{0};
  EXPECT_EQ(failure_of([&] {
              rubato::with_scope(pool, [&](rubato::scope& s) {
                for (int i = 0; i != 5; ++i) s.spawn(sleeps_for_ever(ended));
                throw failure(3);
              });
            }),
            3);
}

TEST_P(coro_scopes, are_stopped_by_hand_and_from_within) {
  std::atomic<int> ended{0};
  auto const run = [&](bool from_within) {
    rubato::with_scope(pool, [&](rubato::scope& s) {
      for (int i = 0; i != 5; ++i) s.spawn(sleeps_for_ever(ended));
      if (from_within)
        s.spawn([](rubato::scope& mine) -> rubato::task<void> {
          co_await rubato::yield();
          mine.request_stop();
        }(s));
      else
        s.request_stop();
      EXPECT_TRUE(s.token().stop_possible());
    });
  };
  for (bool const from_within : {false, true}) {
    auto const how = outcome_of([&] { return run(from_within), 0; });
    EXPECT_TRUE(how == outcome::value || how == outcome::cancelled) << how;
  }
}

TEST_P(coro_scopes, are_stopped_with_the_task_around) {
  if (pool.size() == 0) return;
  std::atomic<int> ended{0};
  std::atomic<bool> begun{false};
  auto f = pool.spawn([&] {
    rubato::with_scope([&](rubato::scope& s) {
      for (int i = 0; i != 5; ++i) s.spawn(sleeps_for_ever(ended));
      s.spawn([&] { begun = true; });
    });
  });
  EXPECT_TRUE(eventually([&] { return begun.load(); }));
  f.cancel();
  EXPECT_NE(outcome_of_get(f), outcome::broken);
}

TEST_P(coro_scopes, spawn_on_seats) {
  if (pool.size() == 0) return;
  std::atomic<unsigned> done{0};
  rubato::with_scope(pool, [&](rubato::scope& s) {
    for (unsigned i = 0; i != pool.size(); ++i) {
      s.spawn_on(i, [&] { ++done; });
      s.spawn_on(i, [](std::atomic<unsigned>& n) -> rubato::task<void> {
        co_await rubato::yield();
        ++n;
      }(done));
    }
    EXPECT_THROW(s.spawn_on(pool.size(), [] {}), std::out_of_range);
  });
  EXPECT_EQ(done, 2 * pool.size());
}

TEST_P(coro_scopes, in_groups) {
  tally runs(100);
  rubato::task_group group(pool);
  for (std::size_t i = 0; i != 50; ++i) group.spawn(hits(runs, i));
  group.wait();
  for (std::size_t i = 50; i != 100; ++i) group.spawn(hits(runs, i));
  group.wait();
  runs.expect_each_once();
  auto const joins = [](rubato::task_group& g) -> rubato::task<int> {
    g.spawn(fails(4));
    try {
      co_await g.join();
    } catch (failure const& e) {
      co_return e.number;
    }
    co_return 0;
  };
  rubato::task_group failing(pool);
  EXPECT_EQ(pool.spawn(joins, std::ref(failing)).get(), 4);
}

// with_async_scope

TEST_P(coro_scopes, that_do_not_block) {
  std::size_t const n = scaled(200);
  auto const f = [n]() -> rubato::task<std::size_t> {
    tally runs(2 * n);
    auto const body = [&runs, n](rubato::scope& s) -> rubato::task<int> {
      for (std::size_t i = 0; i != n; ++i) s.spawn(hits(runs, i));
      co_await s.join();
      EXPECT_EQ(runs.total(), n);
      for (std::size_t i = n; i != 2 * n; ++i) s.spawn([&runs, i] { runs.hit(i); });
      co_return 1;
    };
    int const one = co_await rubato::with_async_scope(body);
    runs.expect_each_once();
    co_return runs.total() + static_cast<std::size_t>(one);
  };
  std::vector<rubato::future<std::size_t>> all;
  for (unsigned i = 0; i != 2 * pool.size() + 2; ++i) all.push_back(pool.spawn(f));
  for (auto& one : all) EXPECT_EQ(one.get(), 2 * n + 1);
}

TEST_P(coro_scopes, without_blocking_take_arguments_and_results) {
  leak_check const none_left;
  auto const body = [](rubato::scope& s, std::unique_ptr<int> a,
                       counted const& b) -> rubato::task<std::unique_ptr<int>> {
    s.spawn([] {});
    co_await rubato::yield();
    *a += b.value;
    co_return std::move(a);
  };
  auto const f = [&]() -> rubato::task<int> {
    auto scope = rubato::with_async_scope(body, std::make_unique<int>(1), counted(2));
    auto const p = co_await std::move(scope);
    auto const nothing = [](rubato::scope&) -> rubato::task<void> { co_return; };
    co_await rubato::with_async_scope(nothing);
    co_return *p;
  };
  EXPECT_EQ(pool.spawn(f).get(), 3);
  pool.wait_idle();
}

TEST_P(coro_scopes, without_blocking_bring_exceptions_at_the_end) {
  std::atomic<int> ended{0};
  auto const own = [&](rubato::scope& s) -> rubato::task<void> {
    for (int i = 0; i != 5; ++i) s.spawn(sleeps_for_ever(ended));
    co_await rubato::yield();
    throw failure(5);
  };
  auto const of_child = [&](rubato::scope& s) -> rubato::task<void> {
    for (int i = 0; i != 5; ++i) s.spawn(sleeps_for_ever(ended));
    s.spawn(fails(6));
    co_return;
  };
  auto const in_join = [&](rubato::scope& s) -> rubato::task<int> {
    s.spawn(fails(7));
    try {
      co_await s.join();
    } catch (failure const& e) {
      co_return e.number;
    }
    co_return 0;
  };
  auto const f = [](auto const& body) -> rubato::task<int> {
    co_return co_await rubato::with_async_scope(body);
  };
  auto const g = [](auto const& body) -> rubato::task<void> { co_await rubato::with_async_scope(body); };
  EXPECT_EQ(failure_of([&] { pool.spawn(g(own)).get(); }), 5);
  EXPECT_EQ(failure_of([&] { pool.spawn(g(of_child)).get(); }), 6);
  int const now = ended;
  pool.wait_idle();
  EXPECT_EQ(ended, now);
  EXPECT_EQ(pool.spawn(f(in_join)).get(), 7);
}

TEST_P(coro_scopes, that_do_not_block_cannot_be_waited_for) {
  auto const body = [](rubato::scope& s) -> rubato::task<bool> {
    try {
      s.wait();
    } catch (std::logic_error const&) {
      co_return true;
    }
    co_return false;
  };
  auto const f = [&]() -> rubato::task<bool> { co_return co_await rubato::with_async_scope(body); };
  EXPECT_TRUE(pool.spawn(f).get());
}

TEST_P(coro_scopes, that_do_not_block_are_stopped_with_their_awaiter) {
  if (pool.size() == 0) return;
  std::atomic<int> ended{0};
  std::atomic<bool> begun{false};
  auto const body = [&](rubato::scope& s) -> rubato::task<void> {
    for (int i = 0; i != 5; ++i) s.spawn(sleeps_for_ever(ended));
    s.spawn([&] { begun = true; });
    co_await s.join();
  };
  auto const f = [&]() -> rubato::task<void> { co_await rubato::with_async_scope(body); };
  auto g = pool.spawn(f);
  EXPECT_TRUE(eventually([&] { return begun.load(); }));
  g.cancel();
  auto const how = outcome_of_get(g); // it may have been about to end
  EXPECT_TRUE(how == outcome::value || how == outcome::cancelled) << how;
  int const now = ended;
  pool.wait_idle();
  EXPECT_EQ(ended, now);
}

TEST_P(coro_scopes, nest_in_each_other) {
  std::function<rubato::task<int>(int)> const tree = [&](int depth) -> rubato::task<int> {
    if (depth == 0) co_return 1;
    std::atomic<int> sum{0};
    auto const body = [&](rubato::scope& s) -> rubato::task<void> {
      for (int i = 0; i != 2; ++i)
        s.spawn([&, depth]() -> rubato::task<void> {
          int const n = co_await tree(depth - 1);
          sum += n;
        });
      co_return;
    };
    co_await rubato::with_async_scope(body);
    co_return sum.load();
  };
  EXPECT_EQ(pool.spawn(tree, 8).get(), 256);
}

TEST_P(coro_scopes, without_blocking_spawn_on_the_pool_they_get) {
  rubato::pool other(2);
  auto const here = [](rubato::pool& expected, std::atomic<int>& n) -> rubato::task<void> {
    n += rubato::current_pool() == &expected;
    co_await rubato::yield();
    n += rubato::current_pool() == &expected;
  };
  std::atomic<int> n = 0;
  auto const body = [&](rubato::scope& s, rubato::pool& mine) -> rubato::task<int> {
    s.spawn(here(other, n));
    s.spawn([&] { n += rubato::current_pool() == &other; });
    co_await s.join();
    co_return rubato::current_pool() == &mine;
  };
  auto const all = [&](rubato::pool& mine) -> rubato::task<int> {
    co_return co_await rubato::with_async_scope(other, body, std::ref(mine));
  };
  EXPECT_EQ(pool.spawn(all, std::ref(pool)).get(), 1);
  EXPECT_EQ(n, 3);

  auto const throws = [&]() -> rubato::task<void> {
    auto const failing = [&](rubato::scope& s) -> rubato::task<void> {
      s.spawn(fails(7));
      s.spawn(sleeps_for_ever(n));
      co_return;
    };
    co_await rubato::with_async_scope(other, failing);
  };
  EXPECT_EQ(failure_of([&] { pool.spawn(throws).get(); }), 7);
}

TEST(coro_scopes, regression_if_stopped_await_nothing_unbegun) {
  rubato::pool pool(1);
  auto const body = [](rubato::scope& s) -> rubato::task<> {
    for (int i = 0; i != 3; ++i) s.spawn([] { throw rubato_test::failure(1); });
    co_return;
  };
  EXPECT_EQ(rubato_test::failure_of([&] { pool.block_on(rubato::with_async_scope(body)); }), 1);
}

TEST(coro_scopes, regression_without_blocking_give_a_wanted_token) {
  rubato::pool pool(1);
  auto const body = [](std::stop_token token, rubato::scope& s, int n) -> rubato::task<int> {
    bool const before = token.stop_requested();
    s.request_stop();
    co_return !before && token.stop_requested() ? n : 0;
  };
  EXPECT_EQ(pool.block_on(rubato::with_async_scope(body, 7)), 7);
  auto const count = [](auto&&... args) -> rubato::task<std::size_t> { co_return sizeof...(args); };
  EXPECT_EQ(pool.block_on(rubato::with_async_scope(count)), 2U);
}

TEST(coro_scopes, regression_without_blocking_hold_up_no_thread) {
  rubato::pool pool(1);
  auto const body = [](rubato::scope& s) -> rubato::task<bool> {
    bool refused = false;
    std::thread waiter([&] {
      try {
        s.wait();
      } catch (std::logic_error const&) {
        refused = true;
      }
    });
    waiter.join();
    co_return refused;
  };
  EXPECT_TRUE(pool.block_on(rubato::with_async_scope(body)));
}

} // namespace
