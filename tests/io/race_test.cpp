// I/O operations in when_any(): the one that loses takes no connection, no bytes, no signal and no child.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include "io/byte_streams.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::address;
using rubato::unix_listener;
using rubato::unix_socket;
using std::chrono::steady_clock;

class io_races : public on_workers {
protected:
  rubato::pool other{1};
};
RUBATO_TEST_WITH_WORKERS(io_races, all_counts);

using connection = connected<unix_socket>;

/// A race of an operation with a receive(). Both are ready, so the loser must leave what it would have taken.
/// True: the operation has won.
template<class Make>
bool wins(rubato::pool& pool, Make make, bool is_first) {
  rubato::channel<int> numbers(1);
  EXPECT_TRUE(numbers.try_send(7));
  auto const race = [&]() -> rubato::task<bool> {
    if (is_first) {
      auto any = rubato::when_any(make(), numbers.receive());
      auto const r = co_await std::move(any);
      co_return r.index == 0;
    }
    auto any = rubato::when_any(numbers.receive(), make());
    auto const r = co_await std::move(any);
    co_return r.index == 1;
  };
  bool const won = pool.spawn(race).get();
  EXPECT_EQ(numbers.try_receive().has_value(), won);
  return won;
}
/// Whether the operation ends, which it does at once: what it takes is still there.
template<class Operation>
bool ends(rubato::pool& pool, Operation o) {
  auto const wait = [&]() -> rubato::task<bool> {
    auto limited = rubato::with_deadline(std::move(o), 20s);
    auto const result = co_await std::move(limited);
    co_return result.has_value();
  };
  return pool.spawn(wait).get();
}

TEST_P(io_races, regression_a_losing_read_takes_no_bytes) {
  connection c = connect_local(pool);
  std::array<char, 8> bytes{};
  for (bool const is_first : {true, false, true, false}) {
    pool.block_on(c.client.write_all("x"));
    if (!wins(pool, [&] { return c.server.read_some(bytes); }, is_first)) {
      EXPECT_TRUE(ends(pool, c.server.read_some(bytes)));
    }
  }
}
TEST_P(io_races, regression_a_losing_read_with_error_code_takes_none) {
  connection c = connect_local(pool);
  std::array<char, 8> bytes{};
  for (bool const is_first : {true, false, true, false}) {
    pool.block_on(c.client.write_all("x"));
    std::error_code error;
    if (wins(pool, [&] { return c.server.read_some(bytes, error); }, is_first)) {
      EXPECT_FALSE(error);
    } else { // stopped, perhaps before it has begun
      EXPECT_TRUE(ends(pool, c.server.read_some(bytes)));
    }
  }
}
TEST_P(io_races, regression_a_losing_accept_takes_no_connection) {
  unix_listener const listener(fresh_local_address());
  for (bool const is_first : {true, false, true, false}) {
    unix_socket const client = pool.block_on(unix_socket::connect(listener.local_address()));
    if (!wins(pool, [&] { return listener.accept(); }, is_first)) {
      EXPECT_TRUE(ends(pool, listener.accept()));
    }
  }
}
TEST_P(io_races, regression_a_losing_send_or_receive_moves_nothing) {
  rubato::udp_socket const a(fresh_local_address()), b(fresh_local_address());
  std::array<char, 8> bytes{};
  for (bool const is_first : {true, false, true, false}) {
    bool const sent = wins(pool, [&] { return a.send_to("x", b.local_address()); }, is_first);
    if (!sent) pool.block_on(a.send_to("y", b.local_address()));
    if (!wins(pool, [&] { return b.receive_from(bytes); }, is_first)) {
      EXPECT_TRUE(ends(pool, b.receive_from(bytes)));
    }
    EXPECT_EQ(bytes[0], sent ? 'x' : 'y');
  }
}
TEST_P(io_races, regression_a_losing_next_takes_no_signal) {
  rubato::signal_set signals(SIGUSR1);
  for (bool const is_first : {true, false, true, false}) {
    ASSERT_EQ(::raise(SIGUSR1), 0);
    if (!wins(pool, [&] { return signals.next(); }, is_first)) {
      EXPECT_TRUE(ends(pool, signals.next()));
    }
  }
}
TEST_P(io_races, regression_a_losing_exited_reaps_no_child) {
  for (bool const is_first : {true, false, true, false}) {
    pid_t const child = ::fork();
    if (child == 0) ::_exit(0);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    rubato_test::fd const pidfd = rubato_test::open_pidfd(child);
    if (!wins(pool, [&] { return rubato::exited(pidfd.get()); }, is_first)) {
      EXPECT_TRUE(ends(pool, rubato::exited(pidfd.get())));
    }
    rubato::forget(pidfd.get());
  }
}
TEST_P(io_races, of_a_range_take_one_effect) {
  std::vector<connection> all;
  for (int i = 0; i != 5; ++i) all.push_back(connect_local(pool));
  for (connection const& c : all) pool.block_on(c.client.write_all("x"));
  auto const read = [&]() -> rubato::task<void> {
    std::array<std::array<char, 8>, 5> bytes{};
    for (std::size_t left = all.size(); left != 0; --left) {
      std::vector<rubato::task<std::size_t>> reads;
      for (std::size_t i = 0; i != all.size(); ++i) reads.push_back(all[i].server.read_some(bytes[i]));
      auto any = rubato::when_any(std::move(reads));
      auto const r = co_await std::move(any);
      EXPECT_EQ(r.value, 1U);
    }
    EXPECT_TRUE(std::ranges::all_of(bytes, [](auto const& b) { return b[0] == 'x'; }));
  };
  pool.spawn(read).get();
}
TEST_P(io_races, end_with_a_failure_only_if_all_fail) {
  connection a = connect_local(pool), b = connect_local(pool);
  std::array<char, 8> bytes{};
  a.server.close();
  pool.block_on(b.client.write_all("x"));
  auto const read = [&]() -> rubato::task<std::size_t> {
    auto any = rubato::when_any(a.server.read_some(bytes), b.server.read_some(bytes));
    auto const r = co_await std::move(any);
    co_return r.index;
  };
  EXPECT_EQ(pool.spawn(read).get(), 1U);
  b.server.close();
  EXPECT_THROW(static_cast<void>(pool.spawn(read).get()), std::system_error);
}

// Many rounds, in which the operations become ready at any moment.

TEST_P(io_races, regression_accept_each_connection_once) {
  unix_listener const a(fresh_local_address()), b(fresh_local_address());
  rubato::channel<void> quit(0);
  std::atomic<std::size_t> answered{0}, dropped{0}, left{8};
  std::size_t const clients = left;
  std::size_t const rounds = scaled(100);
  auto const answer = [](unix_socket s) -> rubato::task<void> { co_await s.write_all("x"); };
  auto const serve = [&]() -> rubato::task<void> {
    for (std::uint32_t n = 0;; ++n) {
      auto any = rubato::when_any(a.accept(), quit.receive(), b.accept());
      auto limited =
          rubato::with_deadline(std::move(any), n % 2 == 0 ? 1h : std::chrono::microseconds(n % 64));
      auto r = co_await std::move(limited);
      if (!r) continue;
      if (r->index == 1) co_return;
      unix_socket s = r->index == 0 ? std::move(std::get<0>(r->value)) : std::move(std::get<2>(r->value));
      co_await answer(std::move(s));
    }
  };
  auto const ask = [&](std::size_t first) -> rubato::task<void> {
    for (std::size_t i = first; i != first + rounds; ++i) {
      unix_socket s = co_await unix_socket::connect((i % 2 == 0 ? a : b).local_address());
      std::array<char, 8> bytes{};
      std::error_code error;
      std::size_t const n = co_await s.read_some(bytes, error);
      ++(n == 1 ? answered : dropped);
    }
    if (--left == 0) quit.close();
  };
  auto server = pool.spawn(serve);
  std::vector<rubato::future<void>> all;
  for (std::size_t i = 0; i != clients; ++i) all.push_back((i % 2 == 0 ? pool : other).spawn(ask(i)));
  server.get(); // first: without workers this thread runs the server
  for (auto& f : all) f.get();
  EXPECT_EQ(answered, clients * rounds);
  EXPECT_EQ(dropped, 0U);
}

/// Two sockets and a channel, from which the numbers 0, 1, 2, ... come. A reader takes them in races.
class sources {
  static constexpr std::size_t in_sockets = 2;
  std::size_t const count_;
  connection sockets_[in_sockets];
  rubato::channel<std::size_t> numbers_{3};
  std::size_t next_[in_sockets + 1] = {};
  std::uint32_t rounds_ = 0;

  static char nth(std::size_t i) { return static_cast<char>(i % 251); }
  void take(std::size_t which, std::array<char, 100> const& bytes, std::size_t n) {
    EXPECT_NE(n, 0U);
    for (std::size_t i = 0; i != n; ++i) ASSERT_EQ(bytes[i], nth(next_[which]++)) << "of source " << which;
  }

public:
  sources(rubato::pool& pool, std::size_t count)
      : count_(count)
      , sockets_{connect_local(pool), connect_local(pool)} {}

  [[nodiscard]] bool all_read() const {
    return std::ranges::all_of(next_, [this](std::size_t n) { return n == count_; });
  }
  rubato::task<void> write(std::size_t which) {
    std::string some;
    for (std::size_t i = 0; i != count_; some.clear()) {
      for (std::size_t const end = std::min(count_, i + 1 + i % 7); i != end; ++i) some += nth(i);
      co_await sockets_[which].client.write_all(some);
      if (i % 5 == 0) co_await rubato::yield();
    }
  }
  rubato::task<void> send() {
    for (std::size_t i = 0; i != count_; ++i) {
      bool const accepted = co_await numbers_.send(i);
      EXPECT_TRUE(accepted);
    }
  }
  /// Until it is stopped, or has all.
  rubato::task<void> read() {
    std::array<char, 100> a{}, b{};
    while (!all_read()) {
      ++rounds_;
      auto any = rubato::when_any(sockets_[0].server.read_some(std::span(a).first(1 + rounds_ % a.size())),
                                  numbers_.receive(), sockets_[1].server.read_some(b));
      bool const has_limit = rounds_ % 2 == 0;
      auto limited =
          rubato::with_deadline(std::move(any), has_limit ? std::chrono::microseconds(rounds_ % 32) : 1h);
      auto const r = co_await std::move(limited);
      if (!r && !has_limit) co_return; // stopped
      if (!r) continue;
      if (r->index == 0) take(0, a, std::get<0>(r->value));
      if (r->index == 2) take(1, b, std::get<2>(r->value));
      if (r->index == 1) {
        auto const& n = std::get<1>(r->value);
        EXPECT_TRUE(n.has_value());
        EXPECT_EQ(n.value_or(count_), next_[2]++);
      }
    }
  }
  std::vector<rubato::future<void>> fed_by(rubato::pool& pool) {
    std::vector<rubato::future<void>> all;
    for (std::size_t i = 0; i != in_sockets; ++i) all.push_back(pool.spawn(write(i)));
    all.push_back(pool.spawn(send()));
    return all;
  }
};
void ignore_stop(rubato::future<void>& f) {
  try {
    f.get();
  } catch (rubato::cancelled const&) { // NOLINT(bugprone-empty-catch): it was stopped
  }
}

TEST_P(io_races, regression_read_all_in_order) {
  sources s(pool, scaled(2'000));
  auto feeders = s.fed_by(other);
  pool.spawn(s.read()).get();
  for (auto& f : feeders) f.get();
  EXPECT_TRUE(s.all_read());
}
TEST_P(io_races, lose_nothing_when_the_reader_is_stopped) {
  sources s(pool, scaled(2'000));
  auto feeders = s.fed_by(other);
  for (auto patience = 100us; !s.all_read(); patience += 100us) { // more and more, so that it gets on
    auto reader = pool.spawn(s.read());
    static_cast<void>(reader.wait_for(patience));
    reader.cancel();
    ignore_stop(reader);
  }
  for (auto& f : feeders) f.get();
}
TEST_P(io_races, lose_nothing_when_the_readers_pool_drains) {
  sources s(pool, scaled(500));
  auto feeders = s.fed_by(other);
  for (auto patience = 100us; !s.all_read(); patience += 100us) { // more and more, so that it gets on
    rubato::pool brief(rubato_test::with_workers(GetParam()));
    auto reader = brief.spawn(s.read());
    static_cast<void>(reader.wait_for(patience));
    brief.shutdown(rubato::drain);
    ignore_stop(reader);
  }
  for (auto& f : feeders) f.get();
}

} // namespace
