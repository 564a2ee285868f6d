// Intervals beside other operations: a tick is consumed when it is delivered.
#include <gtest/gtest.h>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace std::chrono_literals;
using rubato_test::outcome;
using rubato_test::outcome_of_get;
using rubato_test::scaled;
using clock = std::chrono::steady_clock;

class intervals : public rubato_test::on_workers {};
RUBATO_TEST_WITH_WORKERS(intervals, all_counts);

/// Each of so many lost ticks would move the next one so far that the test hangs.
constexpr int many = 20'000;
constexpr auto period = 30ms;

/// The first tick comes no earlier than it should, and at all.
rubato::task<void> expect_first_tick(rubato::interval& every, clock::time_point begin) {
  co_await every.tick();
  EXPECT_GE(clock::now() - begin, period);
  co_await every.tick();
  EXPECT_GE(clock::now() - begin, 2 * period);
}

TEST_P(intervals, regression_a_tick_cut_by_a_deadline_is_kept) {
  auto const f = []() -> rubato::task<void> {
    auto const begin = clock::now();
    rubato::interval every(period);
    for (int i = 0; i != many / 10; ++i) {
      bool const ticked = co_await rubato::with_deadline(every.tick(), begin);
      if (ticked) co_return; // a machine that was so slow shows nothing
    }
    co_await expect_first_tick(every, begin);
  };
  pool.block_on(f());
}

/// A channel that always holds a value, as when its sender is faster.
struct busy_channel {
  rubato::channel<int> values{1};
  busy_channel() { fill(); }
  void fill() { static_cast<void>(values.try_send(1)); }
};

TEST_P(intervals, regression_a_busy_channel_keeps_no_tick_away) {
  auto const first = [](rubato::interval& every, busy_channel& c) -> rubato::task<bool> {
    auto any = rubato::when_any(every.tick(), c.values.receive());
    auto const won = co_await std::move(any);
    co_return won.index == 0;
  };
  auto const second = [](rubato::interval& every, busy_channel& c) -> rubato::task<bool> {
    auto any = rubato::when_any(c.values.receive(), every.tick());
    auto const won = co_await std::move(any);
    co_return won.index == 1;
  };
  auto const beside_a_task = [](rubato::interval& every, busy_channel& c) -> rubato::task<bool> {
    auto any = rubato::when_any(every.tick(), c.values.receive(), rubato::sleep_until(rubato::never));
    auto const won = co_await std::move(any);
    co_return won.index == 0;
  };
  auto const f = [](auto race) -> rubato::task<void> {
    busy_channel c;
    auto const begin = clock::now();
    rubato::interval every(1ms);
    for (int ticks = 0; ticks != 5; c.fill()) {
      bool const ticked = co_await race(every, c);
      if (ticked) ++ticks;
    }
    EXPECT_GE(clock::now() - begin, 5ms);
  };
  pool.block_on(f(first));
  pool.block_on(f(second));
  pool.block_on(f(beside_a_task));
}

/// Neither does a tick that is always late keep the values in the channel.
TEST_P(intervals, a_late_tick_does_not_keep_other_operations_away) {
  auto const f = []() -> rubato::task<void> {
    busy_channel c;
    rubato::interval every(1ns);
    for (std::size_t values = 0; values != 20;) {
      auto any = rubato::when_any(every.tick(), c.values.receive());
      auto const won = co_await std::move(any);
      values += won.index;
      c.fill();
    }
  };
  pool.block_on(f());
}

TEST_P(intervals, regression_a_tick_that_loses_a_race_is_kept) {
  auto const f = []() -> rubato::task<void> {
    busy_channel c;
    auto const begin = clock::now();
    rubato::interval every(period);
    for (int i = 0; i != many; ++i) {
      auto any = rubato::when_any(c.values.receive(), every.tick());
      auto const won = co_await std::move(any);
      if (won.index == 1) co_return;
      c.fill();
    }
    co_await expect_first_tick(every, begin);
  };
  pool.block_on(f());
}

TEST_P(intervals, regression_a_tick_that_a_stop_ends_is_not_consumed) {
  auto const begin = clock::now();
  rubato::interval every(period);
  auto const waits = [&]() -> rubato::task<void> { co_await every.tick(); };
  for (int i = 0; i != many / 10; ++i) {
    auto f = pool.spawn(waits());
    f.cancel();
    if (outcome_of_get(f) == outcome::value) return;
  }
  pool.block_on(expect_first_tick(every, begin));
}

TEST_P(intervals, a_losing_tick_is_armed_no_more) {
  rubato::channel<int> c(1);
  auto const races = [&]() -> rubato::task<std::size_t> {
    rubato::interval hourly(1h);
    std::vector<decltype(hourly.tick())> several;
    several.push_back(hourly.tick());
    several.push_back(hourly.tick());
    auto any = rubato::when_any(hourly.tick(), c.receive());
    auto const won = co_await std::move(any);
    auto none = rubato::when_any(std::move(several));
    bool const in_time = co_await [](auto all) -> rubato::task<bool> {
      auto const r = co_await rubato::with_deadline(std::move(all), 1ms);
      co_return r.has_value();
    }(std::move(none));
    EXPECT_FALSE(in_time);
    co_return won.index;
  };
  auto f = pool.spawn(races());
  EXPECT_TRUE(c.try_send(1));
  EXPECT_EQ(f.get(), 1U);
  EXPECT_TRUE(pool.wait_idle()); // it waits for timers that are armed
}

/// Any tick of a race, by its timer and by a busy receiver, against sends and stops.
TEST_P(intervals, racing_values_loses_none_and_invents_no_tick) {
  auto const begin = clock::now();
  constexpr auto short_period = 200us;
  rubato::channel<int> c(0);
  std::atomic<int> received{0}, ticks{0};
  auto const serves = [&](bool beside_a_task) -> rubato::task<void> {
    rubato::interval every(short_period);
    for (;;) {
      std::size_t index = 0;
      bool open = true;
      if (beside_a_task) {
        auto any = rubato::when_any(every.tick(), c.receive(), rubato::sleep_until(rubato::never));
        auto const won = co_await std::move(any);
        index = won.index;
        if (index == 1) open = std::get<1>(won.value).has_value();
      } else {
        auto any = rubato::when_any(every.tick(), c.receive());
        auto const won = co_await std::move(any);
        index = won.index;
        if (index == 1) open = std::get<1>(won.value).has_value();
      }
      if (!open) break;
      ++(index == 0 ? ticks : received);
    }
  };
  std::size_t const each = scaled(200);
  auto const sends = [&]() -> rubato::task<void> {
    for (std::size_t i = 0; i != each; ++i) {
      bool const sent = co_await c.send(1);
      EXPECT_TRUE(sent);
      if (i % 8 == 0) co_await rubato::sleep_for(300us);
    }
  };
  std::vector<rubato::future<void>> servers, senders;
  for (bool const beside_a_task : {false, true}) servers.push_back(pool.spawn(serves(beside_a_task)));
  for (int i = 0; i != 2; ++i) senders.push_back(pool.spawn(sends()));
  for (auto& f : senders) f.get();
  c.close();
  for (auto& f : servers) f.get();
  EXPECT_EQ(received, static_cast<int>(2 * each));
  EXPECT_LE(ticks, 2 * ((clock::now() - begin) / short_period + 1));
  EXPECT_TRUE(pool.wait_idle());
}

// The pool's end.

TEST(last_intervals, a_drain_ends_the_tick_but_nothing_beside_it) {
  for (bool const beside_a_task : {false, true}) {
    rubato_test::hang_guard const guard;
    rubato::pool pool(2);
    rubato_test::gate drains;
    rubato::channel<int> c(0);
    auto const serves = [&]() -> rubato::task<int> {
      rubato::interval hourly(1h);
      int sum = 0;
      for (;;) {
        std::optional<int> got;
        if (beside_a_task) {
          auto any = rubato::when_any(hourly.tick(), c.receive(), rubato::sleep_until(rubato::never));
          auto const won = co_await std::move(any);
          got = std::get<1>(won.value);
        } else {
          auto any = rubato::when_any(hourly.tick(), c.receive());
          auto const won = co_await std::move(any);
          got = std::get<1>(won.value);
        }
        if (!got) co_return sum;
        sum += *got;
      }
    };
    auto f = pool.spawn(serves());
    auto sender = pool.spawn([&] {
      EXPECT_TRUE(c.send_blocking(1)); // it waits for time now
      EXPECT_TRUE(drains.wait());
      for (int i = 0; i != 3; ++i) EXPECT_TRUE(c.send_blocking(1));
      c.close();
    });
    pool.request_shutdown(rubato::drain);
    drains.open();
    sender.get();
    pool.shutdown(rubato::drain);
    EXPECT_EQ(f.get(), 4);
  }
}

TEST(last_intervals, a_drain_ends_a_race_of_ticks) {
  rubato_test::hang_guard const guard;
  for (bool const before : {false, true}) {
    rubato::pool pool(2);
    rubato_test::gate begins;
    auto f = pool.spawn([&]() -> rubato::task<void> {
      if (before) begins.wait();
      rubato::interval hourly(1h), daily(24h);
      auto any = rubato::when_any(hourly.tick(), daily.tick());
      co_await std::move(any);
    });
    pool.request_shutdown(rubato::drain);
    begins.open();
    pool.shutdown(rubato::drain);
    EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  }
}

} // namespace
