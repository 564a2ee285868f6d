// Waits go on when a signal handler of the program interrupts them, on threads of the pool and outside.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <spawn.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "io/descriptors.hpp"
#include "support/loopback.hpp"
#include "support/pools.hpp"
#include "support/signal_storm.hpp"
#include "support/trees.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

class interrupted : public on_workers {
  signal_storm storm_;
};
RUBATO_TEST_WITH_WORKERS(interrupted, all_counts);

TEST_P(interrupted, waits_for_time_end_no_earlier) {
  auto const begin = steady_clock::now();
  auto slept = pool.spawn([]() -> rubato::task<void> { co_await rubato::sleep_for(50ms); }());
  slept.get();
  EXPECT_GE(steady_clock::now() - begin, 50ms);

  rubato::promise<int> never;
  auto f = never.get_future();
  auto const again = steady_clock::now();
  EXPECT_FALSE(f.wait_for(30ms));
  EXPECT_FALSE(pool.spawn([&] { return f.wait_for(30ms); }).get());
  EXPECT_GE(steady_clock::now() - again, 60ms);
  never.set_value(1);
}

TEST_P(interrupted, waits_between_threads_end_with_what_they_await) {
  rubato::channel<int> values(1);
  std::thread sender([&] {
    for (int n = 0; n != 200; ++n) EXPECT_TRUE(values.send_blocking(n));
    values.close();
  });
  int received = 0;
  pool.run([&] {
    while (auto const v = values.receive_blocking()) EXPECT_EQ(*v, received++);
  });
  sender.join();
  EXPECT_EQ(received, 200);

  rubato::event late;
  auto heard = pool.spawn([](rubato::event& e) -> rubato::task<void> { co_await e.wait(); }(late));
  std::this_thread::sleep_for(20ms);
  late.set();
  heard.get();
  EXPECT_EQ(pool.run([] { return rubato::blocking([] { return ::getpid(); }); }), ::getpid());
  EXPECT_TRUE(pool.wait_idle());
}

TEST_P(interrupted, fork_join_loses_nothing) {
  for (int round = 0; round != 20; ++round) {
    EXPECT_EQ(pool.run([] { return rubato_test::forked_sum(0, 5'000); }), rubato_test::sum_below(5'000));
    std::vector<std::atomic<int>> seen(2'000);
    rubato::for_index(pool, 0, 2'000, [&](int i) { ++seen[static_cast<std::size_t>(i)]; });
    for (auto const& s : seen) ASSERT_EQ(s, 1);
    std::atomic<int> children = 0;
    rubato::with_scope(pool, [&](rubato::scope& s) {
      for (int i = 0; i != 50; ++i) s.spawn([&] { ++children; });
    });
    EXPECT_EQ(children, 50);
  }
}

TEST_P(interrupted, sockets_lose_nothing) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  std::string const sent(1U << 20U, 'x');
  rubato::tcp_listener listener(rubato::address::loopback(0));
  auto server = pool.spawn([](rubato::tcp_listener& at) -> rubato::task<std::size_t> {
    auto peer = co_await at.accept();
    std::vector<char> bytes(4096);
    std::size_t sum = 0;
    for (;;) {
      std::size_t const n = co_await peer.read_some(bytes);
      if (n == 0) co_return sum;
      sum += n;
    }
  }(listener));
  auto client = pool.spawn([](rubato::address to, std::string const& all) -> rubato::task<void> {
    auto socket = co_await rubato::tcp_socket::connect(to);
    co_await socket.write_all(all);
  }(listener.local_address(), sent));
  client.get();
  EXPECT_EQ(server.get(), sent.size());
  EXPECT_FALSE(pool.block_on(rubato::resolve("127.0.0.1", "80")).empty());
}

TEST_P(interrupted, children_are_reaped) {
  pid_t child = -1;
  char name[] = "sleep", while_signals_come[] = "0.05";
  char* const arguments[] = {name, while_signals_come, nullptr};
  ASSERT_EQ(::posix_spawnp(&child, "sleep", nullptr, nullptr, arguments, environ), 0);
  rubato_test::fd const pidfd = rubato_test::open_pidfd(child);
  EXPECT_EQ(pool.block_on(rubato::exited(pidfd.get())), 0);
}

TEST_P(interrupted, calls_are_raced_and_hedged) {
  for (int round = 0; round != 20; ++round) {
    EXPECT_EQ(rubato::race(pool, [](std::stop_token const&) { return 3; }), 3);
    EXPECT_EQ(rubato::hedge(pool, rubato::race_options().hedge_after(1ms),
                            [](std::stop_token const&) {
                              std::this_thread::sleep_for(3ms);
                              return 4;
                            }),
              4);
  }
}

TEST_P(interrupted, pools_end) {
  for (int round = 0; round != 5; ++round) {
    std::atomic<int> ran = 0;
    rubato::pool other(GetParam() != 0 ? rubato::pool(GetParam()) : rubato::pool(rubato::no_workers));
    for (int i = 0; i != 20; ++i)
      other.enqueue([&] {
        std::this_thread::sleep_for(1ms);
        ++ran;
      });
    EXPECT_TRUE(other.wait_idle());
    EXPECT_EQ(ran, 20);
  }
}

} // namespace
