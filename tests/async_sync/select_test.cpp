// select(): exactly one of several operations on channels, and the callable of that operation is called.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

namespace {

using namespace rubato_test;

class selecting : public on_workers {
protected:
  rubato::pool other{1};
};
RUBATO_TEST_WITH_WORKERS(selecting, all_counts);

/// The first operation that was tried had the value, and the second sent an empty one.
TEST_P(selecting, regression_one_moved_value_is_for_two_channels) {
  using value = std::unique_ptr<int>;
  rubato::channel<value> full(1), free(1), closed(1);
  ASSERT_TRUE(full.try_send(std::make_unique<int>(0)));
  closed.close();
  auto const offer = [](rubato::channel<value>& a, rubato::channel<value>& b,
                        value v) -> rubato::task<value> {
    auto const note = [](bool sent) { return sent; };
    auto one = rubato::select(a.sending(std::move(v), note), b.sending(std::move(v), note));
    bool const sent = co_await std::move(one);
    EXPECT_EQ(sent, v == nullptr);
    co_return v;
  };
  for (int i = 0; i != 20; ++i) {
    EXPECT_EQ(pool.spawn(offer(full, free, std::make_unique<int>(i))).get(), nullptr);
    auto const got = free.receive_blocking();
    ASSERT_TRUE(got && *got != nullptr) << i;
    EXPECT_EQ(**got, i);
    auto const kept = pool.spawn(offer(closed, closed, std::make_unique<int>(i))).get();
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(*kept, i);
  }
  ASSERT_TRUE(free.try_send(std::make_unique<int>(0)));
  auto waiting = other.spawn([&]() -> rubato::task<bool> {
    auto v = std::make_unique<int>(7);
    auto const winner = co_await rubato::when_any(full.send(std::move(v)), free.send(std::move(v)));
    co_return winner.index == 1;
  });
  EXPECT_EQ(**free.receive_blocking(), 0);
  auto const got = free.receive_blocking();
  ASSERT_TRUE(got && *got != nullptr);
  EXPECT_EQ(**got, 7);
  EXPECT_TRUE(waiting.get());
}

TEST_P(selecting, regression_a_value_for_two_channels_arrives_once) {
  std::size_t const n = rubato_test::scaled(3'000);
  rubato::channel<std::unique_ptr<std::size_t>> a(0), b(0);
  std::vector<std::atomic<int>> seen(n);
  auto const receive = [&seen](auto& from) -> rubato::task<void> {
    for (;;) {
      auto const v = co_await from.receive();
      if (!v) break;
      EXPECT_NE(*v, nullptr);
      if (*v != nullptr) ++seen[**v];
    }
  };
  auto in_a = other.spawn(receive(a)), in_b = other.spawn(receive(b));
  auto const send = [&]() -> rubato::task<void> {
    for (std::size_t i = 0; i != n; ++i) {
      auto v = std::make_unique<std::size_t>(i);
      auto one = rubato::select(a.sending(std::move(v), [](bool) {}), b.sending(std::move(v), [](bool) {}));
      co_await std::move(one);
    }
  };
  rubato::pool& with_workers = pool.size() == 0 ? other : pool;
  with_workers.spawn(send()).get();
  a.close();
  b.close();
  in_a.get();
  in_b.get();
  for (std::size_t i = 0; i != n; ++i) ASSERT_EQ(seen[i], 1) << "value " << i;
}

TEST_P(selecting, calls_what_belongs_to_the_one_that_happens) {
  rubato::channel<int> numbers(1);
  rubato::channel<std::string> words(1);
  auto const choose = [&]() -> rubato::task<std::string> {
    auto one =
        rubato::select(numbers.receiving([](std::optional<int> n) { return std::to_string(n.value_or(-1)); }),
                       words.receiving([](std::optional<std::string> w) { return w.value_or("closed"); }));
    co_return co_await std::move(one);
  };
  EXPECT_TRUE(numbers.try_send(7));
  EXPECT_EQ(pool.block_on(choose()), "7");
  EXPECT_TRUE(words.try_send("seven"));
  EXPECT_EQ(pool.block_on(choose()), "seven");
  auto f = pool.spawn(choose());
  EXPECT_TRUE(words.send_blocking("late"));
  EXPECT_EQ(f.get(), "late");
  numbers.close();
  EXPECT_EQ(pool.block_on(choose()), "-1");
  EXPECT_EQ(words.try_receive(), std::nullopt);
}

TEST_P(selecting, is_fair_among_the_ready) {
  rubato::channel<int> a(100);
  rubato::channel<int> b(100);
  for (int i = 0; i != 100; ++i) EXPECT_TRUE(a.try_send(i) && b.try_send(i));
  int from_a = 0;
  int from_b = 0;
  auto const take = [&]() -> rubato::task<void> {
    for (int i = 0; i != 50; ++i) {
      auto one = rubato::select(a.receiving([&](auto) { ++from_a; }), b.receiving([&](auto) { ++from_b; }));
      co_await std::move(one);
    }
  };
  pool.block_on(take());
  EXPECT_EQ(from_a + from_b, 50);
  EXPECT_GT(from_a, 0);
  EXPECT_GT(from_b, 0);
}

TEST_P(selecting, moves_each_value_once) {
  for (std::size_t const capacity : {0U, 1U, 8U}) {
    // A relay keeps one value at most, and receives or sends, whatever comes first.
    std::size_t const n = scaled(2'000);
    rubato::channel<std::size_t> in(capacity);
    rubato::channel<std::size_t> out(capacity);
    rubato::channel<std::size_t> aside(capacity);
    auto const seen = std::make_unique<std::atomic<int>[]>(n);
    auto const relay = [&]() -> rubato::task<void> {
      std::vector<std::size_t> kept;
      for (bool open = true; open || !kept.empty();) {
        auto const on_value = [&](std::optional<std::size_t> v) {
          if (v)
            kept.push_back(*v);
          else
            open = false;
        };
        auto const on_sent = [&](bool sent) {
          EXPECT_TRUE(sent);
          kept.pop_back();
        };
        if (kept.empty()) {
          auto one = rubato::select(in.receiving(on_value));
          co_await std::move(one);
        } else if (!open || kept.size() == 4) {
          auto one = rubato::select(out.sending(kept.back(), on_sent), aside.sending(kept.back(), on_sent));
          co_await std::move(one);
        } else {
          auto one = rubato::select(out.sending(kept.back(), on_sent), in.receiving(on_value),
                                    aside.sending(kept.back(), on_sent));
          co_await std::move(one);
        }
      }
    };
    auto const collect = [&]() -> rubato::task<void> {
      for (bool open = true; open;) {
        auto const note = [&](std::optional<std::size_t> v) {
          if (v)
            ++seen[*v];
          else
            open = false;
        };
        auto one = rubato::select(out.receiving(note), aside.receiving(note));
        co_await std::move(one);
      }
    };
    std::vector<rubato::future<void>> relays;
    rubato::pool& with_workers = pool.size() == 0 ? other : pool; // a wait below would drive one pool only
    for (int i = 0; i != 3; ++i) relays.push_back((i == 0 ? other : with_workers).spawn(relay()));
    auto c = with_workers.spawn(collect());
    auto source = other.spawn([&]() -> rubato::task<void> {
      for (std::size_t i = 0; i != n; ++i) co_await in.send(i);
    });
    source.get();
    in.close();
    for (auto& r : relays) r.get();
    out.close();
    c.get();
    while (auto const v = aside.try_receive()) ++seen[*v];
    while (auto const v = out.try_receive()) ++seen[*v];
    for (std::size_t i = 0; i != n; ++i) ASSERT_EQ(seen[i], 1) << "value " << i;
  }
}

TEST(selecting, when_stopped_does_nothing) {
  hang_guard const guard;
  rubato::pool other(1);
  rubato::channel<int> a(0);
  rubato::channel<int> b(0);
  bool called = false;
  auto f = other.spawn([&]() -> rubato::task<void> {
    auto one =
        rubato::select(a.receiving([&](auto) { called = true; }), b.sending(1, [&](bool) { called = true; }));
    co_await std::move(one);
  });
  f.wait_for(std::chrono::milliseconds(1));
  f.cancel();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  EXPECT_FALSE(called);
  EXPECT_FALSE(b.try_receive());
}

} // namespace
