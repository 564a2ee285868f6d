// A read that returned less than was asked for: the next one waits without a try, and yet no byte, no end and
// no error is missed.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "io/descriptors.hpp"
#include "support/loopback.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::address;
using rubato::tcp_listener;
using rubato::tcp_socket;
using std::chrono::steady_clock;

class short_reads : public on_workers {
protected:
  tcp_socket client, server;
  std::array<char, 1'000> bytes{}; // more than any test sends at once

  void SetUp() override {
    if (!has_loopback()) GTEST_SKIP() << "no loopback interface is up";
    tcp_listener const listener(address::loopback(0));
    auto accepted = pool.spawn(listener.accept());
    auto made = pool.spawn(tcp_socket::connect(listener.local_address()));
    client = made.get();
    server = accepted.get();
    // From now on the client is registered, and its last read was short.
    auto first = pool.spawn([this] { return client.read_some(bytes); });
    send_raw("registered");
    ASSERT_EQ(first.get(), 10u);
  }
  /// From the other end, at once: another thread may notice it later.
  void send_raw(std::string_view text, int flags = 0) const {
    ASSERT_EQ(::send(server.native_handle(), text.data(), text.size(), flags | MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }
  rubato::task<std::string> read_to_end() {
    std::string all;
    for (;;) {
      std::size_t const n = co_await client.read_some(bytes);
      if (n == 0) co_return all;
      all.append(bytes.data(), n);
    }
  }
};
RUBATO_TEST_WITH_WORKERS(short_reads, all_counts);

TEST_P(short_reads, find_the_end_that_came_with_the_last_bytes) {
  auto const test = [this]() -> rubato::task<std::string> {
    send_raw("last", MSG_MORE); // it leaves with the end, in one packet
    server.shutdown();
    co_return co_await read_to_end();
  };
  EXPECT_EQ(pool.spawn(test).get(), "last");
  EXPECT_EQ(pool.block_on(client.read_some(bytes)), 0u); // again
}

TEST_P(short_reads, find_the_end_that_comes_later) {
  auto all = pool.spawn([this] { return read_to_end(); });
  send_raw("some");
  std::this_thread::sleep_for(1ms); // in either order all is well
  server.shutdown();
  EXPECT_EQ(all.get(), "some");
  pool.block_on(client.write_all("an answer")); // the other direction is open
  client.close();
  EXPECT_EQ(pool.block_on(server.read_some(bytes)), 9u);
  EXPECT_EQ(pool.block_on(server.read_some(bytes)), 0u);
}

TEST_P(short_reads, get_every_byte_of_a_writer_of_single_bytes) {
  std::string sent;
  for (std::size_t i = 0; i != scaled(5'000); ++i) sent += static_cast<char>('a' + i % 23);
  auto all = pool.spawn([this] { return read_to_end(); });
  for (char const& c : sent) send_raw({&c, 1});
  server.shutdown();
  EXPECT_EQ(all.get(), sent);
}

TEST_P(short_reads, and_answers_take_turns) {
  auto const answer = [this]() -> rubato::task<void> {
    std::array<char, 64> question{};
    for (;;) {
      std::size_t const n = co_await server.read_some(question);
      if (n == 0) co_return;
      co_await server.write_all(std::string_view(question.data(), n));
    }
  };
  auto const ask = [this]() -> rubato::task<std::size_t> {
    std::size_t got = 0;
    for (std::size_t i = 0; i != scaled(1'000); ++i) {
      co_await client.write_all("question");
      for (std::size_t n = 0; n != 8;) {
        std::size_t const more = co_await client.read_some(bytes);
        if (more == 0) co_return got;
        n += more;
        got += more;
      }
    }
    client.shutdown();
    co_return got;
  };
  auto server_ends = pool.spawn(answer);
  EXPECT_EQ(pool.spawn(ask).get(), 8 * scaled(1'000));
  server_ends.get();
}

TEST_P(short_reads, end_at_urgent_data_and_go_on_behind_them) {
  auto const test = [this]() -> rubato::task<std::string> {
    send_raw("ab");
    send_raw("!", MSG_OOB); // not among the other bytes, but a read ends before it
    send_raw("cd");
    server.shutdown();
    co_return co_await read_to_end();
  };
  EXPECT_EQ(pool.spawn(test).get(), "abcd");
}

TEST_P(short_reads, learn_that_the_peer_has_reset_the_connection) {
  auto const test = [this]() -> rubato::task<std::error_code> {
    linger const at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(server.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    server.close();
    std::error_code error;
    std::size_t const n = co_await client.read_some(bytes, error);
    co_return n == 0 ? error : std::error_code();
  };
  EXPECT_EQ(pool.spawn(test).get(), std::errc::connection_reset);
}

TEST_P(short_reads, end_when_the_own_end_is_shut_down) {
  auto const test = [this]() -> rubato::task<std::size_t> {
    client.shutdown(rubato::socket_end::receiving);
    co_return co_await client.read_some(bytes);
  };
  EXPECT_EQ(pool.spawn(test).get(), 0u);
}

TEST_P(short_reads, take_what_is_there_at_a_deadline_that_has_passed) {
  auto const test = [this]() -> rubato::task<std::string> {
    std::string all;
    for (int i = 0; i != 100; ++i) {
      send_raw("ab");
      std::size_t const n = co_await client.read_some(bytes, steady_clock::now() - 1s);
      all.append(bytes.data(), n);
    }
    co_return all;
  };
  EXPECT_EQ(pool.spawn(test).get().size(), 200u);
}

TEST_P(short_reads, take_what_is_there_in_a_race) {
  auto const test = [this]() -> rubato::task<std::size_t> {
    send_raw("ab");
    auto const first = co_await rubato::when_any(client.read_some(bytes), rubato::sleep_for(0s));
    co_return first.index;
  };
  EXPECT_EQ(pool.spawn(test).get(), 0u);
}

TEST_P(short_reads, of_two_tasks_in_turn_miss_nothing) {
  std::size_t const rounds = scaled(500);
  rubato::async_mutex turn;
  std::size_t got = 0;
  auto const read = [&]() -> rubato::task<void> {
    for (;;) {
      rubato::async_lock const hold = co_await turn.scoped_lock();
      std::array<char, 16> some{};
      std::size_t const n = co_await client.read_some(some);
      got += n;
      if (n == 0) co_return;
    }
  };
  auto a = pool.spawn(read), b = pool.spawn(read);
  for (std::size_t i = 0; i != rounds; ++i) send_raw("xyz");
  server.shutdown();
  a.get();
  b.get();
  EXPECT_EQ(got, 3 * rounds);
}

TEST_P(short_reads, see_what_comes_after_others_have_read) {
  auto const test = [this]() -> rubato::task<std::size_t> {
    int const twin = ::dup(client.native_handle());
    send_raw("for the twin");
    std::array<char, 16> some{};
    EXPECT_EQ(::recv(twin, some.data(), some.size(), 0), 12);
    ::close(twin);
    send_raw("ab");
    co_return co_await client.read_some(bytes);
  };
  EXPECT_EQ(pool.spawn(test).get(), 2u);
}

/// A new socket has the number of one whose last read was short.
TEST_P(short_reads, of_a_closed_socket_say_nothing_of_the_next) {
  tcp_listener const listener(address::loopback(0));
  auto const test = [&]() -> rubato::task<int> {
    int right = 0;
    for (int i = 0; i != 20; ++i) {
      tcp_socket s = co_await tcp_socket::connect(listener.local_address());
      tcp_socket const peer = co_await listener.accept();
      co_await peer.write_all("ab");
      std::size_t const first = co_await s.read_some(bytes);
      co_await peer.write_all("c");
      std::size_t const second = co_await s.read_some(bytes);
      right += first == 2 && second == 1 ? 1 : 0;
    }
    co_return right;
  };
  EXPECT_EQ(pool.spawn(test).get(), 20);
}

} // namespace
