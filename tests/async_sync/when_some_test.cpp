// when_some of operations that take effect in one step: at most so many of them do.
#include "support/async_sync.hpp"
#include "support/tally.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

namespace {

using namespace rubato_test;
using channel = rubato::channel<std::size_t>;

class some_operations : public on_workers {
protected:
  rubato::pool other{1};
};
RUBATO_TEST_WITH_WORKERS(some_operations, all_counts);

struct channels {
  std::vector<std::unique_ptr<channel>> all;
  channels(std::size_t n, std::size_t capacity) {
    for (std::size_t i = 0; i != n; ++i) all.push_back(std::make_unique<channel>(capacity));
  }
  auto receives() {
    std::vector<decltype(all[0]->receive())> steps;
    for (auto& c : all) steps.push_back(c->receive());
    return steps;
  }
};

TEST_P(some_operations, take_no_value_when_they_lose) {
  for (std::size_t const capacity : {0U, 1U, 8U}) {
    constexpr std::size_t number = 4;
    std::size_t const rounds = scaled(300);
    channels c(number, capacity);
    tally got(number * rounds);
    std::atomic<std::size_t> taken{0};
    auto receive = [&](std::size_t wanted) -> rubato::task<void> {
      for (std::size_t i = 0; i != rounds / wanted; ++i) {
        auto const r = co_await rubato::when_some(wanted, c.receives());
        EXPECT_EQ(r.size(), wanted);
        for (auto const& each : r) {
          if (!each.value) continue;
          EXPECT_EQ(*each.value / rounds, each.index);
          got.hit(*each.value);
          ++taken;
        }
      }
    };
    auto send = [&](std::size_t i) -> rubato::task<void> {
      for (std::size_t n = 0; n != rounds; ++n) {
        bool const more = co_await c.all[i]->send(i * rounds + n);
        if (!more) co_return;
      }
    };
    std::vector<rubato::future<void>> senders, receivers;
    for (std::size_t i = 0; i != number; ++i) senders.push_back((i == 0 ? other : pool).spawn(send(i)));
    // Fewer than are sent to any one channel.
    receivers.push_back(pool.spawn(receive(2)));
    receivers.push_back((GetParam() == 0 ? pool : other).spawn(receive(3))); // its senders need this thread
    get_all(receivers);
    // What is left was not taken.
    for (std::size_t i = 0; i != number; ++i)
      while (auto const v =
                 pool.block_on(rubato::with_deadline(c.all[i]->receive(), std::chrono::milliseconds(0)))) {
        if (!*v) break;
        got.hit(**v);
      }
    for (auto& each : c.all) each->close();
    get_all(senders);
    for (auto& each : c.all)
      while (auto const v = each->try_receive()) got.hit(*v);
    got.expect_none_twice();
    EXPECT_EQ(taken, rounds / 2 * 2 + rounds / 3 * 3);
  }
}

TEST_P(some_operations, deliver_as_many_values_as_are_wanted) {
  channels c(5, 1);
  auto f = pool.spawn([&]() -> rubato::task<std::size_t> {
    std::size_t const value = 7;
    std::vector<decltype(c.all[0]->send(value))> steps;
    for (auto& each : c.all) steps.push_back(each->send(value));
    auto const r = co_await rubato::when_some(3, std::move(steps));
    std::size_t sent = 0;
    for (auto const& each : r) sent += each.value ? 1U : 0U;
    co_return sent;
  });
  EXPECT_EQ(f.get(), 3U);
  std::size_t found = 0;
  for (auto& each : c.all) found += each->try_receive() ? 1U : 0U;
  EXPECT_EQ(found, 3U);
}

TEST_P(some_operations, lock_as_many_as_are_wanted) {
  std::vector<std::unique_ptr<rubato::async_mutex>> all;
  for (int i = 0; i != 4; ++i) all.push_back(std::make_unique<rubato::async_mutex>());
  int guarded[4] = {};
  std::size_t const rounds = scaled(300);
  auto lock_two = [&]() -> rubato::task<void> {
    for (std::size_t i = 0; i != rounds; ++i) {
      std::vector<decltype(all[0]->scoped_lock())> steps;
      for (auto& m : all) steps.push_back(m->scoped_lock());
      auto const r = co_await rubato::when_some(2, std::move(steps));
      for (auto const& each : r) ++guarded[each.index];
      if (i % 3 == 0) co_await rubato::yield();
    }
  };
  // Two that hold one each, of four, leave one more for each: no circle of waits.
  auto f = other.spawn(lock_two());
  auto g = pool.spawn(lock_two());
  g.get();
  f.get();
  EXPECT_EQ(static_cast<std::size_t>(guarded[0] + guarded[1] + guarded[2] + guarded[3]), 4 * rounds);
  for (auto& m : all) EXPECT_TRUE(m->try_acquire());
}

TEST_P(some_operations, that_are_stopped_give_back_what_they_had) {
  rubato::async_mutex first, second;
  ASSERT_TRUE(second.try_acquire());
  auto f = pool.spawn([&]() -> rubato::task<void> {
    std::vector<decltype(first.scoped_lock())> steps;
    steps.push_back(first.scoped_lock());
    steps.push_back(second.scoped_lock());
    auto const r = co_await rubato::when_some(2, std::move(steps));
    ADD_FAILURE() << r.size();
  });
  let_all_wait(pool);
  EXPECT_FALSE(first.try_acquire());
  f.cancel();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  EXPECT_TRUE(first.try_acquire());
  second.release();
  EXPECT_TRUE(second.try_acquire());
}

TEST_P(some_operations, end_when_channels_are_closed) {
  for (std::size_t round = 0; round != scaled(200); ++round) {
    channels c(4, 0);
    auto f = pool.spawn([&]() -> rubato::task<std::size_t> {
      auto const r = co_await rubato::when_some(3, c.receives());
      std::size_t values = 0;
      for (auto const& each : r) values += each.value ? 1U : 0U;
      co_return values;
    });
    auto g = other.spawn([&]() -> rubato::task<void> {
      c.all[round % 4]->close();
      c.all[(round + 1) % 4]->close();
      bool const sent = co_await c.all[(round + 2) % 4]->send(1);
      EXPECT_TRUE(sent);
    });
    EXPECT_EQ(f.get(), 1U);
    g.get();
    EXPECT_FALSE(c.all[(round + 3) % 4]->try_send(1)); // nothing waits there
  }
}

TEST_P(some_operations, racing_stops_lose_only_what_was_won) {
  std::size_t const rounds = scaled(300);
  channels c(3, 1);
  std::atomic<bool> over{false};
  auto feed = other.spawn([&]() -> rubato::task<void> {
    for (std::size_t i = 0; !over; ++i) {
      static_cast<void>(c.all[i % 3]->try_send(i));
      co_await rubato::yield();
    }
  });
  for (std::size_t i = 0; i != rounds; ++i) {
    auto f = pool.spawn([&]() -> rubato::task<std::size_t> {
      auto const r = co_await rubato::when_some(2, c.receives());
      co_return r.size();
    });
    if (i % 4 != 0) f.wait_for(std::chrono::microseconds(i % 11));
    f.cancel();
    auto const end = outcome_of([&] { EXPECT_EQ(f.get(), 2U); });
    ASSERT_TRUE(end == outcome::value || end == outcome::cancelled);
  }
  over = true;
  feed.get();
  EXPECT_TRUE(pool.wait_idle());
}

} // namespace
