// A coroutine whose waits are all ready at once lets other tasks run now and then, whatever it waits for.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "io/descriptors.hpp"
#include "support/pools.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

class ready_waits : public on_workers {
protected:
  /// How often wait() ends before a task runs that was queued at the beginning.
  template<class Wait>
  int waits_before_another_task(Wait wait) {
    constexpr int enough = 4'000;
    int n = 0;
    std::atomic<bool> other{false};
    auto const waits = [&]() -> rubato::task<void> {
      rubato::enqueue([&] { other = true; });
      for (; n != enough && !other; ++n) co_await wait();
    };
    on_only_thread(pool, waits);
    return n;
  }
};
RUBATO_TEST_WITH_WORKERS(ready_waits, counts_alone);

/// It sees after 1,024 waits that its turn is over, whatever the clock says.
#define EXPECT_FAIR(...) EXPECT_LT(waits_before_another_task(__VA_ARGS__), 1'100)

// It looks at the clock at every 64th wait.
TEST_P(ready_waits, that_take_long_end_its_turn_earlier) {
  rubato::event e;
  e.set();
  auto const slowly = [&]() -> rubato::task<void> {
    auto const begun = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begun < 1us) {
    }
    co_await e.wait();
  };
  EXPECT_LT(waits_before_another_task(slowly), 200);
}

TEST_P(ready_waits, regression_for_events_and_latches_let_others_run) {
  rubato::event e;
  e.set();
  EXPECT_FAIR([&]() -> rubato::task<void> { co_await e.wait(); });
  EXPECT_FAIR([&]() -> rubato::task<void> { std::ignore = co_await e.wait_for(1h); });
  rubato::async_latch open(0);
  EXPECT_FAIR([&]() -> rubato::task<void> { co_await open.wait(); });
  rubato::async_barrier of_one(1);
  EXPECT_FAIR([&]() -> rubato::task<void> { co_await of_one.arrive_and_wait(); });
}

TEST_P(ready_waits, regression_for_permits_let_others_run) {
  rubato::async_mutex m;
  EXPECT_FAIR([&]() -> rubato::task<void> { auto const lock = co_await m.scoped_lock(); });
  EXPECT_TRUE(m.try_acquire());
  rubato::async_semaphore s(3);
  EXPECT_FAIR([&]() -> rubato::task<void> { auto const three = co_await s.scoped_acquire(3); });
  EXPECT_FAIR([&]() -> rubato::task<void> {
    co_await s.acquire();
    s.release();
  });
  EXPECT_TRUE(s.try_acquire(3));
}

TEST_P(ready_waits, regression_for_channels_let_others_run) {
  rubato::channel<int> c(1);
  int sum = 0;
  EXPECT_FAIR([&]() -> rubato::task<void> {
    std::ignore = co_await c.send(1);
    std::optional<int> const n = co_await c.receive();
    sum += n.value_or(1'000'000);
  });
  EXPECT_LT(sum, 1'100); // each value came
  rubato::channel<std::unique_ptr<int>> closed(1);
  closed.close();
  EXPECT_FAIR([&]() -> rubato::task<void> { std::ignore = co_await closed.receive(); });
  EXPECT_FAIR([&]() -> rubato::task<void> {
    auto kept = std::make_unique<int>(1);
    bool const sent = co_await closed.send(std::move(kept));
    EXPECT_FALSE(sent);
    EXPECT_NE(kept, nullptr);
  });
}

TEST_P(ready_waits, regression_for_results_let_others_run) {
  auto const shared = rubato::make_ready_future(1).share();
  EXPECT_FAIR([&]() -> rubato::task<void> { std::ignore = co_await shared; });
  EXPECT_FAIR([&]() -> rubato::task<void> { std::ignore = co_await rubato::make_ready_future(1); });
}

TEST_P(ready_waits, regression_in_a_race_let_others_run) {
  rubato::channel<int> closed(1);
  closed.close();
  rubato::async_mutex m;
  EXPECT_FAIR(
      [&]() -> rubato::task<void> { co_await rubato::select(closed.receiving([](std::optional<int>) {})); });
  EXPECT_FAIR([&]() -> rubato::task<void> {
    auto const first = co_await rubato::when_any(m.scoped_lock(), closed.receive());
    EXPECT_EQ(first.index, 0u);
  });
  EXPECT_TRUE(m.try_acquire());
  EXPECT_FAIR([&]() -> rubato::task<void> {
    std::vector<decltype(closed.receive())> all;
    all.push_back(closed.receive());
    std::ignore = co_await rubato::when_any(std::move(all));
  });
  EXPECT_FAIR([&]() -> rubato::task<void> {
    std::ignore = co_await rubato::when_any(closed.receive(), rubato::sleep_for(1h));
  });
  EXPECT_FAIR(
      [&]() -> rubato::task<void> { std::ignore = co_await rubato::with_deadline(closed.receive(), 1h); });
}

TEST_P(ready_waits, regression_for_descriptors_let_others_run) {
  rubato_test::ends const p = rubato_test::make_pipe();
  rubato_test::put(p.b, "x");
  EXPECT_FAIR([&]() -> rubato::task<void> { std::ignore = co_await rubato::readable(p.a.get()); });
  EXPECT_FAIR([&]() -> rubato::task<void> { std::ignore = co_await rubato::writable(p.b.get()); });
  rubato::udp_socket const s(rubato::address::loopback(0));
  EXPECT_FAIR([&]() -> rubato::task<void> { co_await s.send_to("x", s.local_address()); });
}

TEST_P(ready_waits, regression_of_an_endless_stream_let_others_run) {
  rubato_test::fd const zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  rubato::buffered all(zero.get());
  std::array<char, 64> few{};
  std::array<char, 8'192> more{};
  EXPECT_FAIR([&]() -> rubato::task<void> { std::ignore = co_await all.read_some(few); });
  EXPECT_FAIR([&]() -> rubato::task<void> { std::ignore = co_await all.read_exactly(more); });
  EXPECT_FAIR(
      [&]() -> rubato::task<void> { std::ignore = co_await all.read_until(std::string_view("\0", 1), 10); });
}

TEST_P(ready_waits, regression_for_signals_let_others_run) {
  rubato::signal_set all(SIGUSR1);
  EXPECT_FAIR([&]() -> rubato::task<void> {
    std::raise(SIGUSR1);
    int const s = co_await all.next();
    EXPECT_EQ(s, SIGUSR1);
  });
}

/// A coroutine may be destroyed where it is queued after such a wait.
TEST(destroyed_waits, regression_give_back_what_they_have_got) {
  rubato::detail::permits permits(3);
  {
    rubato::detail::permit_awaiter<void> wait(permits, 2);
    ASSERT_TRUE(wait.await_ready());
    wait.keep_while_queued();
    EXPECT_FALSE(permits.try_take(2));
  }
  EXPECT_TRUE(permits.try_take(3));
}

} // namespace
