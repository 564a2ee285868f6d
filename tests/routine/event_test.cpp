// Events: every waiter goes on when it is set, a wait ends early by its deadline or a stop, and the event may
// be destroyed as soon as a wait has returned.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/second_thread.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

class events : public on_workers {};
RUBATO_TEST_WITH_WORKERS(events, all_counts);

TEST_P(events, let_all_waiters_go_on) {
  rubato::event e;
  int value = 0;
  auto const waits = [&]() -> rubato::task<int> {
    co_await e.wait();
    co_return value;
  };
  std::vector<rubato::future<int>> all;
  for (int i = 0; i != 100; ++i) all.push_back(pool.spawn(waits));
  EXPECT_FALSE(all[0].wait_for(1ms));
  EXPECT_FALSE(e.is_set());
  value = 7;
  e.set();
  for (auto& f : all) EXPECT_EQ(f.get(), 7);
  EXPECT_EQ(pool.spawn(waits).get(), 7); // it stays set
  e.set();
  e.reset();
  auto later = pool.spawn(waits);
  EXPECT_FALSE(later.wait_for(1ms));
  e.set();
  EXPECT_EQ(later.get(), 7);
}

TEST_P(events, are_waited_for_until_a_deadline) {
  rubato::event e;
  auto const waits = [&](std::chrono::nanoseconds d) -> rubato::task<bool> { return e.wait_for(d); };
  EXPECT_FALSE(pool.spawn(waits, 1ms).get());
  EXPECT_FALSE(pool.spawn(waits, -1h).get());
  auto early = pool.spawn(waits, 1h);
  EXPECT_FALSE(early.wait_for(1ms));
  e.set();
  EXPECT_TRUE(early.get());
  EXPECT_TRUE(pool.spawn(waits, 1h).get());
  auto const until = [&]() -> rubato::task<bool> { return e.wait_until(rubato::never); };
  EXPECT_TRUE(pool.spawn(until).get());
}

TEST_P(events, are_left_by_a_stop) {
  rubato::event e;
  auto const waits = [&]() -> rubato::task<void> { co_await e.wait(); };
  auto f = pool.spawn(waits);
  EXPECT_FALSE(f.wait_for(1ms));
  f.cancel();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  e.set();
}

TEST_P(events, are_destroyed_by_a_waiter) {
  if (pool.size() == 0) return;
  rubato_test::second_thread setter;
  for (std::size_t i = 0; i != scaled(2'000); ++i) {
    auto e = std::make_unique<rubato::event>();
    rubato::event* const it = e.get();
    auto const waits = [&]() -> rubato::task<void> {
      co_await it->wait();
      e.reset();
    };
    auto f = pool.spawn(waits);
    setter.begin([it] { it->set(); });
    f.get();
    setter.wait();
  }
}

TEST_P(events, set_and_reset_by_several_threads) {
  if (pool.size() == 0) return;
  rubato::event e;
  std::atomic<std::size_t> passed{0};
  std::size_t const n = scaled(200);
  auto const waits = [&]() -> rubato::task<void> {
    for (int i = 0; i != 10; ++i) {
      co_await e.wait();
      ++passed;
      e.reset();
    }
  };
  std::vector<rubato::future<void>> all;
  for (std::size_t i = 0; i != n; ++i) all.push_back(pool.spawn(waits));
  EXPECT_TRUE(eventually([&] {
    e.set();
    return passed == n * 10;
  }));
  for (auto& f : all) f.get();
}

} // namespace
