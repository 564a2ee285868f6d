// Threads at the ends of a channel, outside pools and in tasks.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/pools.hpp"
#include "support/scale.hpp"

namespace {

using namespace rubato_test;

class channel_blocking : public on_workers {};
RUBATO_TEST_WITH_WORKERS(channel_blocking, all_counts);

TEST_P(channel_blocking, delivers_each_value_once) {
  for (std::size_t const capacity : {0U, 1U, 8U}) {
    std::size_t const n = scaled(3'000);
    rubato::channel<std::size_t> c(capacity);
    auto const seen = std::make_unique<std::atomic<int>[]>(3 * n);
    auto const send_all = [&](std::size_t first) {
      for (std::size_t i = first; i != first + n; ++i) EXPECT_TRUE(c.send_blocking(i));
    };
    auto const receive_all = [&] {
      while (auto const v = c.receive_blocking()) ++seen[*v];
    };
    {
      std::jthread const receiver(receive_all);
      {
        std::jthread const a([&] { send_all(0); });
        auto task =
            pool.spawn([&]() -> rubato::task<void> { // in a pool without workers the wait below drives it
              for (std::size_t i = n; i != 2 * n; ++i) {
                bool const sent = co_await c.send(i);
                EXPECT_TRUE(sent);
              }
            });
        send_all(2 * n);
        task.get();
      }
      c.close();
    }
    for (std::size_t i = 0; i != 3 * n; ++i) ASSERT_EQ(seen[i], 1) << "value " << i;
  }
}

TEST_P(channel_blocking, leaves_the_seat_in_a_task) {
  rubato::channel<int> c(0);
  std::vector<rubato::future<int>> receivers;
  for (int i = 0; i != 40; ++i)
    receivers.push_back(pool.spawn([&] { return c.receive_blocking().value_or(0); }));
  auto sender = pool.spawn([&] {
    for (int i = 0; i != 40; ++i) EXPECT_TRUE(c.send_blocking(1));
  });
  sender.get();
  int sum = 0;
  for (auto& r : receivers) sum += r.get();
  EXPECT_EQ(sum, 40);
}

TEST(channel_blocking, ends_when_the_channel_is_closed) {
  hang_guard const guard;
  rubato::channel<int> empty(0);
  rubato::channel<std::string> full(1);
  EXPECT_TRUE(full.send_blocking("one"));
  std::jthread const receiver([&] { EXPECT_FALSE(empty.receive_blocking()); });
  std::jthread const sender([&] {
    std::string two("two");
    EXPECT_FALSE(full.send_blocking(std::move(two)));
    EXPECT_EQ(two, "two"); // NOLINT(bugprone-use-after-move): it was refused
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  empty.close();
  full.close();
}

TEST_P(channel_blocking, ends_when_the_task_is_stopped_with_no_value) {
  if (pool.size() == 0) return; // no worker would run the tasks meanwhile
  std::size_t const rounds = scaled(300);
  rubato::channel<std::size_t> c(0);
  std::atomic<std::size_t> received{0};
  std::size_t sent = 0;
  for (std::size_t i = 0; i != rounds; ++i) {
    std::atomic<bool> begun{false};
    auto f = pool.spawn([&] {
      begun = true;
      if (c.receive_blocking()) ++received;
    });
    while (!begun) std::this_thread::yield();
    std::jthread const sender([&] {
      if (c.try_send(std::size_t{i})) ++sent;
    });
    f.cancel();
    f.wait();
  }
  EXPECT_EQ(received, sent);
}

TEST(channel_blocking, of_nothing_and_of_what_cannot_be_moved) {
  rubato::channel<void> c(1);
  EXPECT_TRUE(c.send_blocking());
  EXPECT_TRUE(c.receive_blocking());
  struct stubborn {
    bool throws = false;
    stubborn() = default;
    explicit stubborn(bool t)
        : throws(t) {}
    stubborn(stubborn&& other)
        : throws(other.throws) {
      if (throws) throw std::runtime_error("stays");
    }
    stubborn& operator=(stubborn&&) = default;
  };
  rubato::channel<stubborn> s(1);
  EXPECT_THROW(static_cast<void>(s.send_blocking(stubborn(true))), std::runtime_error);
  EXPECT_TRUE(s.send_blocking(stubborn()));
  EXPECT_TRUE(s.receive_blocking());
}

/// A thread finds nothing, gets ready to wait, and then finds something. What it got ready goes: a leak is
/// AddressSanitizer's to tell.
TEST(channel_blocking, regression_leaves_nothing_without_a_wait) {
  hang_guard const guard;
  std::size_t const rounds = scaled(20'000);
  rubato::channel<std::size_t> there(1), back(1);
  std::jthread const answers([&] {
    for (std::size_t i = 0; i != rounds; ++i) {
      std::optional<std::size_t> v;
      while (!(v = there.try_receive())) std::this_thread::yield();
      while (!back.try_send(*v)) std::this_thread::yield();
    }
  });
  for (std::size_t i = 0; i != rounds; ++i) {
    ASSERT_TRUE(there.send_blocking(i));
    ASSERT_EQ(back.receive_blocking(), i);
  }
}

} // namespace
