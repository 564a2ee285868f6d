// channel: many at both ends; nothing lost, nothing twice.
#include "support/async_sync.hpp"
#include "support/tally.hpp"

#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace {

using namespace rubato_test;

class channel_stress : public on_workers {};
RUBATO_TEST_WITH_WORKERS(channel_stress, all_counts);

constexpr std::size_t capacities[] = {0, 1, 7, 1'000};

rubato::task<> produce(rubato::channel<std::size_t>& c, std::size_t first, std::size_t n,
                       std::atomic<long>& refused) {
  for (std::size_t i = first; i != first + n; ++i) {
    bool const accepted = co_await c.send(i);
    if (!accepted) ++refused;
  }
}

rubato::task<> consume(rubato::channel<std::size_t>& c, tally& got) {
  for (;;) {
    std::optional<std::size_t> const v = co_await c.receive();
    if (!v) co_return;
    got.hit(*v);
  }
}

TEST_P(channel_stress, many_senders_and_receivers) {
  std::size_t const each = scaled(1'000);
  for (std::size_t const capacity : capacities) {
    SCOPED_TRACE(capacity);
    constexpr std::size_t senders = 8, receivers = 5;
    rubato::channel<std::size_t> c(capacity);
    tally got(senders * each);
    std::atomic<long> refused{0};
    std::vector<rubato::future<void>> in, out;
    for (std::size_t i = 0; i != receivers; ++i) out.push_back(pool.spawn(consume(c, got)));
    for (std::size_t i = 0; i != senders; ++i) in.push_back(pool.spawn(produce(c, i * each, each, refused)));
    get_all(in);
    c.close();
    get_all(out);
    EXPECT_EQ(refused, 0);
    got.expect_each_once();
  }
}

TEST_P(channel_stress, threads_at_both_ends) {
  std::size_t const each = scaled(2'000);
  for (std::size_t const capacity : {std::size_t{1}, std::size_t{64}}) {
    SCOPED_TRACE(capacity);
    rubato::channel<std::size_t> c(capacity);
    tally got(4 * each);
    std::atomic<long> refused{0};
    std::vector<rubato::future<void>> in, out;
    out.push_back(pool.spawn(consume(c, got)));
    std::jthread takes([&] {
      for (;;) {
        if (auto const v = c.try_receive())
          got.hit(*v);
        else if (c.is_closed())
          break;
        else
          std::this_thread::yield();
      }
    });
    in.push_back(pool.spawn(produce(c, 0, each, refused)));
    in.push_back(pool.spawn(produce(c, each, each, refused)));
    {
      std::vector<std::jthread> puts;
      for (std::size_t t = 2; t != 4; ++t)
        puts.emplace_back([&, t] {
          for (std::size_t i = t * each; i != (t + 1) * each;) {
            if (c.try_send(i))
              ++i;
            else
              std::this_thread::yield();
          }
        });
    }
    get_all(in);
    c.close();
    takes.join();
    get_all(out);
    EXPECT_EQ(refused, 0);
    got.expect_each_once();
  }
}

/// close() at any moment: what was accepted is received, what was refused is not.
TEST_P(channel_stress, closed_in_the_middle) {
  std::size_t const rounds = scaled(300);
  jitter pauses(GetParam());
  for (std::size_t round = 0; round != rounds; ++round) {
    constexpr std::size_t senders = 3, each = 50;
    rubato::channel<std::size_t> c(capacities[round % 3]);
    tally sent(senders * each), got(senders * each);
    auto send = [&](std::size_t first) -> rubato::task<> {
      for (std::size_t i = first; i != first + each; ++i) {
        bool const accepted = co_await c.send(i);
        if (accepted) sent.hit(i);
      }
    };
    std::vector<rubato::future<void>> all;
    for (std::size_t i = 0; i != 2; ++i) all.push_back(pool.spawn(consume(c, got)));
    for (std::size_t i = 0; i != senders; ++i) all.push_back(pool.spawn(send(i * each)));
    pauses.pause(std::chrono::microseconds(50));
    c.close();
    get_all(all);
    while (auto const v = c.try_receive()) got.hit(*v);
    sent.expect_none_twice();
    got.expect_none_twice();
    ASSERT_EQ(sent.total(), got.total());
  }
}

/// A ring of channels through which tokens go round: all workers at all ends, none idle for long.
TEST_P(channel_stress, tokens_in_a_ring) {
  constexpr std::size_t stations = 6, tokens = 4;
  std::size_t const hops = scaled(2'000);
  std::vector<std::unique_ptr<rubato::channel<std::size_t>>> ring;
  for (std::size_t i = 0; i != stations; ++i)
    ring.push_back(std::make_unique<rubato::channel<std::size_t>>(i % 3));
  rubato::channel<std::size_t> arrived(tokens);
  auto pass_on = [&](std::size_t i) -> rubato::task<> {
    for (;;) {
      std::optional<std::size_t> const left = co_await ring[i]->receive();
      if (!left) co_return;
      if (*left == 0) {
        bool const kept = co_await arrived.send(i);
        EXPECT_TRUE(kept);
      } else {
        bool const passed = co_await ring[(i + 1) % stations]->send(*left - 1);
        EXPECT_TRUE(passed);
      }
    }
  };
  auto feed = [&]() -> rubato::task<> {
    for (std::size_t t = 0; t != tokens; ++t) {
      bool const accepted = co_await ring[t]->send(hops + t);
      EXPECT_TRUE(accepted);
    }
    for (std::size_t t = 0; t != tokens; ++t) {
      std::optional<std::size_t> const where = co_await arrived.receive();
      EXPECT_TRUE(where);
    }
    for (auto& c : ring) c->close();
  };
  std::vector<rubato::future<void>> all;
  for (std::size_t i = 0; i != stations; ++i) all.push_back(pool.spawn(pass_on(i)));
  all.push_back(pool.spawn(feed()));
  get_all(all);
}

rubato::task<> begin_with(rubato::channel<int>& c) {
  bool const sent = co_await c.send(0);
  EXPECT_TRUE(sent);
}

rubato::task<> pass_on(rubato::channel<int>& from, rubato::channel<int>& to) {
  for (;;) {
    std::optional<int> const n = co_await from.receive();
    if (!n) co_return;
    bool const sent = co_await to.send(*n);
    if (!sent) co_return;
  }
}

/// Each of them is ready for the LIFO slot of its worker, and pushes the one there into the worker's queue.
TEST(channel_fairness, regression_mutual_wakes_starve_no_task) {
  hang_guard const guard;
  for (unsigned const workers : {1U, 2U}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato::pool_options().workers(workers).spares(0));
    std::size_t const pairs = 2 * workers + 1;
    std::vector<std::unique_ptr<rubato::channel<int>>> ways;
    for (std::size_t i = 0; i != 2 * pairs; ++i) ways.push_back(std::make_unique<rubato::channel<int>>(1));
    std::vector<rubato::future<void>> all;
    for (std::size_t i = 0; i != 2 * pairs; i += 2) {
      all.push_back(pool.spawn(begin_with(*ways[i])));
      all.push_back(pool.spawn(pass_on(*ways[i], *ways[i + 1])));
      all.push_back(pool.spawn(pass_on(*ways[i + 1], *ways[i])));
    }
    for (int round = 0; round != 20; ++round) {
      std::atomic<bool> ran = false;
      pool.enqueue([&] { ran = true; });
      bool const in_time = eventually([&] { return ran.load(); });
      EXPECT_TRUE(in_time) << "round " << round;
      if (in_time) continue;
      for (auto const& c : ways) c->close();
      EXPECT_TRUE(eventually([&] { return ran.load(); }));
      break;
    }
    for (auto const& c : ways) c->close();
    get_all(all);
  }
}

} // namespace
