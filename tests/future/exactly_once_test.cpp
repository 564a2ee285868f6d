// Many producers, many consumers: each piece of work once, each value to one place, all memory given back.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "support/counting.hpp"
#include "support/jitter.hpp"
#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/tally.hpp"
#include "support/values.hpp"

namespace {

using namespace rubato_test;

class exactly_once : public on_workers {
protected:
  static constexpr unsigned producers = 4;

  /// Calls f(producer) on so many threads, half of which are members of the pool.
  template<class F>
  void produce(F f) {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t != producers; ++t)
      threads.emplace_back([&, t] {
        if (t % 2 == 0 || pool.size() == 0)
          f(t);
        else
          pool.run([&] { f(t); });
      });
    for (auto& t : threads) t.join();
  }
};
RUBATO_TEST_WITH_WORKERS(exactly_once, all_counts);

TEST_P(exactly_once, with_many_producers) {
  std::size_t const each = scaled(3'000);
  tally closures(producers * each);
  tally continuations(producers * each);
  tally coroutines(producers * each);
  leak_check const none_left;
  produce([&](unsigned t) {
    std::vector<rubato::future<counted>> mine;
    for (std::size_t i = t * each; i != (t + 1) * each; ++i) {
      mine.push_back(pool.spawn([&closures, i] {
                           closures.hit(i);
                           return counted(static_cast<int>(i));
                         })
                         .then([&continuations, i](counted c) {
                           continuations.hit(i);
                           return c;
                         }));
      pool.spawn(
              [](tally& where, std::size_t k) -> rubato::task<void> {
                co_await rubato::yield();
                where.hit(k);
              },
              std::ref(coroutines), i)
          .detach();
    }
    for (std::size_t i = 0; i != each; ++i) ASSERT_EQ(mine[i].get().value, static_cast<int>(t * each + i));
  });
  pool.wait_idle();
  closures.expect_each_once();
  continuations.expect_each_once();
  coroutines.expect_each_once();
}

TEST_P(exactly_once, with_futures_kept_dropped_and_cancelled) {
  std::size_t const each = scaled(2'000);
  accounts book;
  produce([&](unsigned t) {
    jitter random(t + 1);
    std::vector<rubato::future<void>> mine;
    for (std::size_t i = 0; i != each; ++i) {
      auto f = pool.spawn([job = book.make()]() mutable { job(); });
      switch (random.below(5)) {
      case 0:
        break; // dropped
      case 1:
        f.detach();
        break;
      case 2:
        f.cancel();
        mine.push_back(std::move(f));
        break;
      case 3:
        mine.push_back(f.then([job = book.make()]() mutable { job(); }));
        break;
      default:
        mine.push_back(std::move(f));
      }
    }
    for (auto& f : mine) {
      auto const how = outcome_of_get(f);
      ASSERT_TRUE(how == outcome::value || how == outcome::cancelled) << how;
    }
  });
  pool.wait_idle();
  EXPECT_TRUE(book.balance());
}

TEST_P(exactly_once, with_waiters_that_claim) {
  // A waiter claims work that has not begun; the queue must not run it again.
  std::size_t const each = scaled(1'000);
  tally runs(producers * each * 2);
  produce([&](unsigned t) {
    for (std::size_t i = t * each; i != (t + 1) * each; ++i) {
      auto const shared = pool.spawn([&runs, i] { runs.hit(2 * i); }).share();
      auto a = pool.spawn([shared] { shared.get(); });
      auto b = pool.spawn([shared, &runs, i] {
        runs.hit(2 * i + 1);
        shared.get();
      });
      shared.get();
      a.get();
      b.get();
    }
  });
  runs.expect_each_once();
}

TEST_P(exactly_once, with_coroutines_claimed_again_and_again) {
  std::size_t const n = scaled(2'000);
  tally steps(n * 4);
  auto const f = [&](std::size_t i) -> rubato::task<std::size_t> {
    for (std::size_t k = 0; k != 4; ++k) {
      steps.hit(4 * i + k);
      co_await rubato::yield();
    }
    co_return i;
  };
  produce([&](unsigned t) {
    for (std::size_t i = t; i < n; i += producers)
      ASSERT_EQ(pool.spawn([&, i] { return pool.spawn(f, i).get(); }).get(), i);
  });
  steps.expect_each_once();
}

TEST_P(exactly_once, with_a_limited_queue) {
  if (pool.size() == 0) return; // it would wait for itself
  std::size_t const each = scaled(2'000);
  rubato::pool limited(rubato::pool_options().workers(pool.size()).max_queued(8));
  tally runs(producers * each);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t != producers; ++t)
    threads.emplace_back([&, t] {
      std::vector<rubato::future<std::size_t>> mine;
      for (std::size_t i = t * each; i != (t + 1) * each; ++i)
        mine.push_back(limited.spawn([&runs, i] {
          runs.hit(i);
          return i;
        }));
      for (std::size_t i = 0; i != each; ++i) ASSERT_EQ(mine[i].get(), t * each + i);
    });
  for (auto& t : threads) t.join();
  runs.expect_each_once();
}

TEST_P(exactly_once, memory_is_freed_by_other_threads_than_its_own) {
  // Blocks of all sizes wander: made by producers and workers, freed wherever the last reference dies.
  std::size_t const each = scaled(1'500);
  leak_check const none_left;
  std::mutex mutex;
  std::vector<rubato::shared_future<counted>> exchange;
  auto const wander = [&](jitter& random, rubato::shared_future<counted> f) {
    std::lock_guard const lock(mutex);
    if (exchange.size() < 200) {
      exchange.push_back(std::move(f));
    } else {
      std::swap(exchange[random.below(200)], f); // the other one may die here
    }
  };
  produce([&](unsigned t) {
    jitter random(t + 7);
    for (std::size_t i = 0; i != each; ++i) {
      std::array<char, 1> small{};
      std::array<char, 200> medium{};
      std::array<char, 5'000> large{};
      small[0] = medium[0] = large[0] = 1;
      int const n = static_cast<int>(i);
      switch (i % 4) {
      case 0:
        wander(random, pool.spawn([small, n] { return counted(n + small[0] - 1); }).share());
        break;
      case 1:
        wander(random, pool.spawn([medium, n] { return counted(n + medium[0] - 1); }).share());
        break;
      case 2:
        wander(random, pool.spawn([large, n] { return counted(n + large[0] - 1); }).share());
        break;
      default:
        wander(random, pool.spawn(
                               [](int k) -> rubato::task<counted> {
                                 co_await rubato::yield();
                                 co_return counted(k);
                               },
                               n)
                           .share());
      }
    }
  });
  for (auto const& f : exchange) ASSERT_GE(f.get().value, 0);
  exchange.clear();
  pool.wait_idle();
}

} // namespace
