// channel: many at both ends; nothing lost, nothing twice.
#include "support/async_sync.hpp"
#include "support/tally.hpp"

#include <cstdint>
#include <limits>
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

using numbers = rubato::channel<std::uint64_t>;

/// Checks at one receiver that the values of each sender arrive in order.
class in_order {
  std::vector<std::uint64_t> last_ = std::vector<std::uint64_t>(8, 0);
  std::atomic<std::uint64_t>& received_;

public:
  explicit in_order(std::atomic<std::uint64_t>& received)
      : received_(received) {}
  void add(std::uint64_t value) {
    std::uint64_t const sender = value >> 32U, number = value & 0xffffffffU;
    EXPECT_GT(number, last_[sender]);
    last_[sender] = number;
    received_ += value;
  }
};

/// Every kind of operation at both ends while receivers are stopped and the channel is closed: what was
/// accepted arrives once, and the values of one sender arrive at one receiver in order.
TEST_P(channel_stress, every_kind_of_operation_keeps_the_order) {
  std::uint64_t const each = scaled(300);
  for (std::size_t const capacity : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{300},
                                     std::numeric_limits<std::size_t>::max()}) {
    SCOPED_TRACE(capacity);
    numbers c(capacity), idle(1);
    std::atomic<std::uint64_t> accepted{0}, received{0};
    auto const send = [&](std::uint64_t id) -> rubato::task<> {
      for (std::uint64_t i = 1; i <= each; ++i) {
        bool const sent = co_await c.send(id << 32U | i);
        if (!sent) co_return;
        accepted += id << 32U | i;
      }
    };
    auto const receive = [&](int most) -> rubato::task<> {
      in_order order(received);
      for (int i = 0; i != most; ++i) {
        std::optional<std::uint64_t> const v = co_await c.receive();
        if (!v) co_return;
        order.add(*v);
      }
    };
    auto const choose = [&]() -> rubato::task<> {
      in_order order(received);
      for (bool more = true; more;)
        co_await rubato::select(c.receiving([&](std::optional<std::uint64_t> v) {
          if (v)
            order.add(*v);
          else
            more = false;
        }),
                                idle.receiving([](auto const&) { ADD_FAILURE(); }));
    };
    std::vector<rubato::future<void>> in, out, stopped;
    for (std::uint64_t i = 0; i != 3; ++i) in.push_back(pool.spawn(send(i)));
    for (int i = 0; i != 2; ++i) out.push_back(pool.spawn(receive(std::numeric_limits<int>::max())));
    for (int i = 0; i != 2; ++i) out.push_back(pool.spawn(choose()));
    for (int i = 0; i != 4; ++i) stopped.push_back(pool.spawn(receive(50)));
    std::jthread sends([&] {
      for (std::uint64_t i = 1; i <= each && c.send_blocking(std::uint64_t{7} << 32U | i); ++i)
        accepted += std::uint64_t{7} << 32U | i;
    });
    std::jthread receives([&] {
      in_order order(received);
      while (auto const v = c.receive_blocking()) order.add(*v);
    });
    for (auto& s : stopped) s.cancel();
    if (capacity == 7) c.close();
    get_all(in);
    sends.join();
    c.close();
    receives.join();
    get_all(out);
    for (auto& s : stopped) s.wait();
    while (auto const v = c.try_receive()) received += *v;
    EXPECT_EQ(accepted.load(), received.load());
  }
}

/// The thread that learns last that it may destroys the channel: the receiver of the last value, or a sender
/// that a receive has let in. The other thread may still be in its unlock.
TEST_P(channel_stress, destroyed_when_the_last_operation_is_known) {
  auto const send = [](rubato::channel<int>& c, int n) -> rubato::task<> {
    for (int i = 0; i != n; ++i) {
      bool const sent = co_await c.send(i);
      EXPECT_TRUE(sent);
    }
  };
  auto const receive = [](rubato::channel<int>& c) -> rubato::task<> {
    std::optional<int> const v = co_await c.receive();
    EXPECT_TRUE(v.has_value());
  };
  auto const send_and_destroy = [&](std::unique_ptr<rubato::channel<int>> c) -> rubato::task<> {
    co_await send(*c, 2);
  };
  auto const receive_and_destroy = [&](std::unique_ptr<rubato::channel<int>> c) -> rubato::task<> {
    co_await receive(*c);
  };
  for (std::size_t i = 0; i != scaled(2'000); ++i) {
    auto made = std::make_unique<rubato::channel<int>>(1);
    auto sender = pool.spawn(send(*made, 1));
    auto receiver = pool.spawn(receive_and_destroy(std::move(made)));
    sender.get();
    receiver.get();
    made = std::make_unique<rubato::channel<int>>(1);
    receiver = pool.spawn(receive(*made));
    sender = pool.spawn(send_and_destroy(std::move(made)));
    receiver.get();
    sender.get();
  }
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
