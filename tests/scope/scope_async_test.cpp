// Children of scopes and groups with a future.
#include <gtest/gtest.h>

#include "support/never_ready.hpp"
#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using namespace rubato_test;

namespace {

using namespace std::chrono_literals;

using task = rubato::task<>;

class future_children : public on_workers {};
RUBATO_TEST_WITH_WORKERS(future_children, all_counts);

class pooled_children : public on_workers {};
RUBATO_TEST_WITH_WORKERS(pooled_children, counts_with_workers);

rubato::task<int> twice(int n) {
  co_await rubato::yield();
  co_return 2 * n;
}
task waits(never_ready& w) { static_cast<void>(co_await w.future); }
task waits_in(std::atomic<int>& frames, never_ready& w) {
  in_frame const here(frames);
  co_await waits(w);
}

TEST_P(future_children, bring_any_result) {
  leak_check const leaks;
  int target = 0;
  rubato::with_scope(pool, [&](rubato::scope& s) {
    rubato::future<int> value = s.async([] { return 1; });
    rubato::future<void> nothing = s.async([&] { target = 2; });
    rubato::future<int&> reference = s.async([&]() -> int& { return target; });
    rubato::future<counted> movable = s.async([] { return counted(3); });
    rubato::future<int> of_task = s.async(twice(2));
    rubato::future<int> of_coroutine = s.async(twice, 3);
    rubato::future<int> of_closure = s.async([c = counted(4)]() -> rubato::task<int> {
      co_await rubato::yield();
      co_return c.value;
    });
    rubato::future<int> of_future = s.async([&] { return s.async(twice, 5); });
    EXPECT_EQ(value.get(), 1);
    nothing.get();
    EXPECT_EQ(target, 2);
    EXPECT_EQ(&reference.get(), &target);
    EXPECT_EQ(movable.get().value, 3);
    EXPECT_EQ(of_task.get(), 4);
    EXPECT_EQ(of_coroutine.get(), 6);
    EXPECT_EQ(of_closure.get(), 4);
    EXPECT_EQ(of_future.get(), 10);
  });
}

TEST_P(future_children, take_arguments_and_a_token) {
  rubato::with_scope(pool, [&](rubato::scope& s) {
    auto sum = s.async([](int a, std::unique_ptr<int> b) { return a + *b; }, 1, std::make_unique<int>(2));
    std::string text = "a";
    s.async([](std::string& t) { t += "b"; }, std::ref(text)).get();
    auto possible = s.async([](std::stop_token t, int) { return t.stop_possible(); }, 0);
    EXPECT_EQ(sum.get(), 3);
    EXPECT_EQ(text, "ab");
    EXPECT_TRUE(possible.get());
    EXPECT_EQ(s.async(rubato::priority::high, [](int n) { return n; }, 7).get(), 7);
    EXPECT_EQ(s.async(rubato::priority::low, twice(4)).get(), 8);
  });
}

TEST_P(future_children, in_groups_and_from_other_threads) {
  rubato::task_group group(pool);
  std::vector<std::thread> threads;
  std::vector<rubato::future<int>> all(40);
  for (std::size_t t = 0; t != 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i != 10; ++i)
        all[10 * t + i] = i % 2 == 0 ? group.async(twice, static_cast<int>(i))
                                     : group.async([i] { return 2 * static_cast<int>(i); });
    });
  for (auto& t : threads) t.join();
  group.wait();
  for (std::size_t i = 0; i != all.size(); ++i) {
    EXPECT_TRUE(all[i].ready());
    EXPECT_EQ(all[i].get(), 2 * static_cast<int>(i % 10));
  }
}

TEST_P(future_children, in_scopes_of_coroutines) {
  auto const sum = [](rubato::scope& s) -> rubato::task<int> {
    auto a = s.async(twice, 1);
    auto b = s.async([] { return 3; });
    auto c = s.async([&s] { return s.async(twice(4)); });
    int const first = co_await std::move(a);
    int const second = co_await std::move(b);
    co_return first + second + co_await std::move(c);
  };
  EXPECT_EQ(pool.block_on(rubato::with_async_scope(sum)), 13);
}

TEST_P(future_children, are_waited_for_with_or_without_the_future) {
  std::atomic<int> ended{0};
  rubato::future<int> kept;
  rubato::with_scope(pool, [&](rubato::scope& s) {
    kept = s.async([&]() -> rubato::task<int> {
      for (int i = 0; i != 10; ++i) co_await rubato::yield();
      ++ended;
      co_return 5;
    });
    s.async([&]() -> task {
       for (int i = 0; i != 10; ++i) co_await rubato::yield();
       ++ended;
     }).detach();
  });
  EXPECT_EQ(ended, 2);
  EXPECT_TRUE(kept.ready());
  EXPECT_EQ(kept.get(), 5); // it outlives the scope
}

TEST_P(future_children, can_be_inputs) {
  rubato::future<int> then;
  rubato::with_scope(pool, [&](rubato::scope& s) {
    then = s.async(twice, 1).then([](int n) { return n + 1; });
    auto both = rubato::when_all(s.async(twice, 2), s.async([] { return 3; }));
    auto const [a, b] = both.get();
    EXPECT_EQ(a + b, 7);
  });
  EXPECT_EQ(then.get(), 3);
}

// Failures

TEST_P(future_children, fail_for_the_scope_and_in_the_future) {
  for (bool const coroutine : {false, true}) {
    for (int round = 0; round != 20; ++round) {
      rubato::future<int> kept;
      EXPECT_EQ(failure_of([&] {
                  rubato::with_scope(pool, [&](rubato::scope& s) {
                    kept = coroutine ? s.async([]() -> rubato::task<int> {
                      co_await rubato::yield();
                      throw failure(1);
                    })
                                     : s.async([]() -> int { throw failure(1); });
                  });
                  return 0;
                }),
                1);
      EXPECT_EQ(failure_of([&] { return kept.get(); }), 1);
    }
  }
}

TEST_P(future_children, fail_for_the_scope_even_if_they_are_handled) {
  // A consumer that is quick takes the exception out of the future before the scope is told of the end.
  for (int round = 0; round != 50; ++round) {
    int of_future = 0;
    EXPECT_EQ(failure_of([&] {
                rubato::with_scope(pool, [&](rubato::scope& s) {
                  auto f = s.async([]() -> int { throw failure(1); });
                  while (pool.size() > 1 && !f.ready()) std::this_thread::yield();
                  of_future = failure_of([&] { return f.get(); });
                });
                return 0;
              }),
              1);
    EXPECT_TRUE(of_future == 1 || of_future == -2) << of_future; // the scope was stopped before get() began
  }
}

TEST_P(future_children, stop_their_siblings_when_they_fail) {
  never_ready w;
  std::atomic<int> frames{0};
  rubato::future<void> sibling;
  EXPECT_EQ(failure_of([&] {
              pool.block_on(rubato::with_async_scope([&](rubato::scope& s) -> task {
                sibling = s.async(waits_in, std::ref(frames), std::ref(w));
                s.async([]() -> task {
                   co_await rubato::yield();
                   throw failure(4);
                 }).detach();
                co_return;
              }));
              return 0;
            }),
            4);
  EXPECT_EQ(frames, 0);
  EXPECT_EQ(outcome_of_get(sibling), outcome::cancelled);
}

TEST(future_children, never_fail_into_on_unhandled) {
  hang_guard const guard;
  std::atomic<int> unhandled{0};
  rubato::pool pool(rubato::pool_options().workers(2).on_unhandled([&](std::exception_ptr) { ++unhandled; }));
  for (int i = 0; i != 20; ++i) {
    rubato::task_group group(pool);
    group.async([]() -> int { throw failure(1); }).detach();
    {
      auto dropped = group.async([]() -> task {
        co_await rubato::yield();
        throw failure(2);
      });
    }
    static_cast<void>(failure_of([&] { return group.wait(), 0; }));
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(unhandled, 0);
}

// Futures that are dropped or cancelled

TEST_P(future_children, end_alone_when_the_future_is_dropped) {
  never_ready w;
  std::atomic<int> frames{0}, ended{0};
  rubato::with_scope(pool, [&](rubato::scope& s) { // returns: the scope was not cut
    auto dropped = std::make_unique<rubato::future<void>>(s.async(waits_in, std::ref(frames), std::ref(w)));
    s.spawn([&]() -> task {
      for (int i = 0; i != 10; ++i) co_await rubato::yield();
      ++ended;
    });
    {
      auto const at_once = s.async([&] { EXPECT_NO_THROW(rubato::for_index(0, 1, [](int) {})); });
    }
    dropped.reset();
    s.spawn([&] { ++ended; });
    s.wait();
    EXPECT_FALSE(s.token().stop_requested());
  });
  EXPECT_EQ(frames, 0);
  EXPECT_EQ(ended, 2);
}

TEST_P(future_children, end_alone_when_the_future_is_cancelled) {
  never_ready w;
  rubato::future<void> closure, coroutine;
  std::optional<rubato::future<void>> in_time;
  auto const body = [&](rubato::scope& s) -> task {
    closure = s.async([&w] { w.future.wait(); });
    coroutine = s.async(waits(w));
    s.spawn([]() -> task {
      for (int i = 0; i != 10; ++i) co_await rubato::yield();
    });
    in_time.emplace(s.async([] {}));
    co_await std::move(*in_time);
    closure.cancel();
    coroutine.cancel();
  };
  pool.block_on(rubato::with_async_scope(body));
  EXPECT_EQ(outcome_of_get(closure), outcome::cancelled);
  EXPECT_EQ(outcome_of_get(coroutine), outcome::cancelled);
}

TEST_P(future_children, may_be_dropped_by_any_thread_at_any_time) {
  leak_check const leaks;
  std::size_t const rounds = scaled(200);
  for (std::size_t round = 0; round != rounds; ++round) {
    std::atomic<int> begun{0}, ended{0};
    rubato::task_group group(pool);
    std::vector<rubato::future<int>> all;
    for (int i = 0; i != 8; ++i) {
      if (i % 2 == 0)
        all.push_back(group.async([&, c = counted(i)]() -> rubato::task<int> {
          ++begun;
          in_frame const here(ended);
          for (int n = 0; n != 3; ++n) co_await rubato::yield();
          co_return c.value;
        }));
      else
        all.push_back(group.async([&, c = counted(i)] {
          ++begun;
          return c.value;
        }));
    }
    std::thread drops([&] { all.clear(); });
    EXPECT_EQ(outcome_of([&] { return group.wait(), 0; }), outcome::value);
    EXPECT_EQ(ended, 0);
    int const now = begun;
    drops.join();
    EXPECT_EQ(begun, now);
  }
}

// Stopped scopes

TEST_P(future_children, are_cancelled_in_a_stopped_scope) {
  leak_check const leaks;
  rubato::future<int> closure, coroutine, flattened;
  rubato::with_scope(pool, [&](rubato::scope& s) {
    s.request_stop();
    closure = s.async([c = counted(1)] {
      ADD_FAILURE();
      return c.value;
    });
    coroutine = s.async([c = counted(2)]() -> rubato::task<int> {
      ADD_FAILURE();
      co_return c.value;
    });
    flattened = s.async([&] {
      ADD_FAILURE();
      return pool.spawn([] { return 1; });
    });
  });
  EXPECT_EQ(outcome_of_get(closure), outcome::cancelled);
  EXPECT_EQ(outcome_of_get(coroutine), outcome::cancelled);
  EXPECT_EQ(outcome_of_get(flattened), outcome::cancelled);
}

TEST_P(future_children, that_a_deadline_ends_cut_the_scope) {
  never_ready w;
  auto const job = [](never_ready& v) -> rubato::task<int> {
    co_return co_await rubato::with_async_scope(
        [](rubato::scope& s, never_ready& u) -> rubato::task<int> {
          auto f = s.async(waits(u));
          co_await s.join();
          co_return 1;
        },
        std::ref(v));
  };
  EXPECT_FALSE(pool.block_on(rubato::with_deadline(job(w), 1ms)).has_value());
}

TEST_P(pooled_children, of_a_discarded_group_end) {
  rubato::pool mine(GetParam());
  never_ready w;
  milestone added;
  rubato::task_group group(mine);
  std::vector<rubato::future<void>> all;
  all.push_back(group.async([&] {
    EXPECT_TRUE(added.wait()); // what is added to a closed pool runs
    mine.request_shutdown(rubato::discard);
    w.future.wait();
  }));
  for (int i = 0; i != 20; ++i) {
    all.push_back(group.async([] {}));
    all.push_back(group.async(waits(w)));
  }
  added.reach();
  EXPECT_EQ(outcome_of([&] { return group.wait(), 0; }), outcome::cancelled);
  for (auto& f : all) EXPECT_TRUE(f.ready());
  EXPECT_EQ(outcome_of_get(all[0]), outcome::cancelled);
}

TEST_P(pooled_children, regression_of_discarding_pools_are_cancelled) {
  rubato::pool mine(GetParam());
  auto const in_discarding_pool = [&mine] {
    rubato::with_scope(mine, [&mine](rubato::scope& s) {
      mine.request_shutdown(rubato::discard);
      EXPECT_EQ(s.async([] { return 1; }).get(), 1);
    });
    return 0;
  };
  EXPECT_EQ(outcome_of(in_discarding_pool), outcome::cancelled);
}

TEST_P(pooled_children, regression_of_coroutines_in_closed_pools_run) {
  rubato::pool closed(1U);
  closed.shutdown();
  auto const body = [](rubato::scope& s) -> rubato::task<int> {
    auto child = s.async([] { return 1; });
    co_await s.join();
    co_return co_await std::move(child);
  };
  EXPECT_EQ(pool.block_on(rubato::with_async_scope(closed, body)), 1);
}

} // namespace
