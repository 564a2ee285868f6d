// Sockets: bytes arrive whole and in order; every operation ends by its result, an error, a stop or close().
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "io/byte_streams.hpp"
#include "support/loopback.hpp"
#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::address;
using rubato::tcp_listener;
using rubato::tcp_socket;
using std::chrono::steady_clock;

class sockets : public on_workers {
  void SetUp() override {
    if (!has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  }
};
RUBATO_TEST_WITH_WORKERS(sockets, all_counts);

using connection = connected<tcp_socket>;

TEST_P(sockets, carry_bytes_in_order_to_the_end) {
  connection c = connect_tcp(pool);
  std::string sent;
  for (int i = 0; i != 300'000; ++i) sent += static_cast<char>('a' + i % 23);
  auto received = pool.spawn([&] { return read_all(c.server); });
  auto const send = [&]() -> rubato::task<void> {
    co_await c.client.write_all(sent);
    c.client.shutdown();
  };
  pool.spawn(send).get();
  EXPECT_EQ(received.get(), sent);
}

TEST_P(sockets, carry_bytes_both_ways_at_once) {
  connection c = connect_tcp(pool);
  std::string const sent(2'000'000, 'x');
  auto const send = [&](tcp_socket& s) -> rubato::task<void> {
    co_await s.write_all(sent);
    s.shutdown();
  };
  auto a = pool.spawn([&] { return read_all(c.server); });
  auto b = pool.spawn([&] { return read_all(c.client); });
  auto to_server = pool.spawn([&] { return send(c.client); });
  auto to_client = pool.spawn([&] { return send(c.server); });
  to_server.get();
  to_client.get();
  EXPECT_EQ(a.get().size(), sent.size());
  EXPECT_EQ(b.get().size(), sent.size());
}

TEST_P(sockets, know_their_addresses) {
  connection c = connect_tcp(pool);
  EXPECT_EQ(c.client.local_address(), c.server.peer_address());
  EXPECT_EQ(c.server.local_address(), c.client.peer_address());
  EXPECT_EQ(c.server.local_address().host(), "127.0.0.1");
  EXPECT_NE(c.server.local_address().port(), 0);
}

TEST_P(sockets, serve_many_connections) {
  tcp_listener listener(address::loopback(0));
  std::size_t const clients = scaled(200);
  constexpr std::size_t rounds = 20;
  auto const serve_one = [](tcp_socket s) -> rubato::task<void> {
    std::array<char, 64> bytes{};
    for (;;) {
      std::size_t const n = co_await s.read_some(bytes);
      if (n == 0) co_return;
      co_await s.write_all(std::string_view(bytes.data(), n));
    }
  };
  auto const serve = [&]() -> rubato::task<void> {
    co_await rubato::with_async_scope([&](rubato::scope& s) -> rubato::task<void> {
      for (std::size_t i = 0; i != clients; ++i) {
        tcp_socket one = co_await listener.accept();
        s.spawn(serve_one(std::move(one)));
      }
      co_await s.join();
    });
  };
  auto const ask = [&](std::size_t number) -> rubato::task<bool> {
    tcp_socket s = co_await tcp_socket::connect(listener.local_address());
    for (std::size_t i = 0; i != rounds; ++i) {
      std::string const word = std::to_string(number * rounds + i);
      co_await s.write_all(word);
      std::string back;
      while (back.size() < word.size()) {
        std::array<char, 64> some{};
        std::size_t const n = co_await s.read_some(some);
        if (n == 0) co_return false;
        back.append(some.data(), n);
      }
      if (back != word) co_return false;
    }
    co_return true;
  };
  auto server = pool.spawn(serve);
  std::vector<rubato::future<bool>> all;
  for (std::size_t i = 0; i != clients; ++i) all.push_back(pool.spawn([&ask, i] { return ask(i); }));
  for (auto& f : all) EXPECT_TRUE(f.get());
  server.get();
  EXPECT_GT(pool.stats().io_events, 0u);
}

TEST_P(sockets, report_a_refused_connection) {
  address const nowhere = tcp_listener(address::loopback(0)).local_address(); // closed at once
  EXPECT_EQ(error_of([&] { return pool.block_on(tcp_socket::connect(nowhere)); }),
            std::errc::connection_refused);
  std::error_code e;
  EXPECT_FALSE(pool.block_on(tcp_socket::connect(nowhere, e)).is_open());
  EXPECT_EQ(e, std::errc::connection_refused);
  EXPECT_FALSE(pool.block_on(tcp_socket::connect(nowhere, steady_clock::now() + 1h, e)).is_open());
  EXPECT_EQ(e, std::errc::connection_refused);
}

TEST_P(sockets, that_are_closed_report_it) {
  tcp_socket const closed;
  std::array<char, 4> bytes{};
  EXPECT_FALSE(closed.is_open());
  EXPECT_EQ(closed.native_handle(), -1);
  EXPECT_EQ(error_of([&] { return pool.block_on(closed.read_some(bytes)); }), std::errc::bad_file_descriptor);
  EXPECT_EQ(error_of([&] { pool.block_on(closed.write_all("x")); }), std::errc::bad_file_descriptor);
  EXPECT_EQ(error_of([&] { return closed.local_address(); }), std::errc::bad_file_descriptor);
  std::error_code e;
  EXPECT_EQ(pool.block_on(closed.read_some(bytes, e)), 0u);
  EXPECT_EQ(e, std::errc::bad_file_descriptor);
  connection c = connect_tcp(pool);
  tcp_socket const moved = std::move(c.client);
  EXPECT_FALSE(c.client.is_open()); // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_TRUE(moved.is_open());
}

TEST_P(sockets, end_their_waits_when_they_are_closed) {
  connection c = connect_tcp(pool);
  std::array<char, 4> bytes{};
  auto f = pool.spawn([&] { return c.client.read_some(bytes); });
  auto const close = [&]() -> rubato::task<void> {
    co_await until_awaited(c.client.native_handle());
    c.client.close();
  };
  auto g = pool.spawn(close);
  EXPECT_EQ(error_of([&] { return f.get(); }), std::errc::operation_canceled);
  g.get();
  EXPECT_FALSE(c.client.is_open());
  EXPECT_EQ(pool.block_on(c.server.read_some(bytes)), 0u);
}

TEST_P(sockets, end_their_waits_when_the_task_is_stopped) {
  connection c = connect_tcp(pool);
  std::array<char, 4> bytes{};
  auto f = pool.spawn([&] { return c.client.read_some(bytes); });
  std::error_code e;
  auto g = pool.spawn([&] { return c.server.read_some(bytes, e); });
  auto const stop = [&]() -> rubato::task<void> {
    co_await until_awaited(c.client.native_handle());
    co_await until_awaited(c.server.native_handle());
    f.cancel();
    g.cancel();
  };
  auto h = pool.spawn(stop);
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  EXPECT_EQ(g.get(), 0u);
  EXPECT_EQ(e, std::errc::operation_canceled);
  h.get();
}

TEST_P(sockets, end_their_waits_in_a_pool_that_drains) {
  connection c = connect_tcp(pool);
  tcp_listener listener(address::loopback(0));
  std::array<char, 4> bytes{};
  auto f = pool.spawn([&] { return c.client.read_some(bytes); });
  auto g = pool.spawn([&] { return listener.accept(); });
  pool.shutdown();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  EXPECT_EQ(outcome_of_get(g), outcome::cancelled);
}

TEST_P(sockets, within_a_deadline) {
  connection c = connect_tcp(pool);
  std::array<char, 4> bytes{};
  auto const wait = [&](std::chrono::nanoseconds d) -> rubato::task<bool> {
    auto const n = co_await rubato::with_deadline(c.client.read_some(bytes), d);
    co_return n.has_value();
  };
  EXPECT_FALSE(pool.spawn(wait, 2ms).get());
  pool.block_on(c.server.write_all("now"));
  EXPECT_TRUE(pool.spawn(wait, 1h).get());
}

TEST_P(sockets, fail_at_a_deadline_of_their_own) {
  connection c = connect_tcp(pool);
  std::array<char, 4> bytes{};
  EXPECT_EQ(error_of([&] { return pool.block_on(c.client.read_some(bytes, steady_clock::now() + 2ms)); }),
            std::errc::timed_out);
  pool.block_on(c.server.write_all("text", steady_clock::now() + 1h));
  // What is there is taken, however late.
  EXPECT_EQ(pool.block_on(c.client.read_some(bytes, steady_clock::now() - 1s)), 4u);
  std::error_code error;
  EXPECT_EQ(pool.block_on(c.client.read_some(bytes, steady_clock::now() + 2ms, error)), 0u);
  EXPECT_EQ(error, std::errc::timed_out);
}

TEST_P(sockets, regression_close_beside_an_ended_operations_task) {
  connection c = connect_tcp(pool);
  pool.block_on(c.server.write_all("x"));
  bool const ended = pool.block_on([](connection& both) -> rubato::task<bool> {
    std::array<char, 4> bytes{};
    auto read = both.client.read_some(bytes);
    static_cast<void>(co_await read);
    both.client.close();
    co_return co_await both.server.read_some(bytes, 10s) == 0;
  }(c));
  EXPECT_TRUE(ended);
}

TEST_P(sockets, take_durations_for_deadlines) {
  rubato::tcp_listener const listener(address::loopback(0));
  rubato::tcp_socket const client = pool.block_on(rubato::tcp_socket::connect(listener.local_address(), 1h));
  rubato::tcp_socket const server = pool.block_on(listener.accept());
  std::array<char, 4> bytes{};
  std::error_code error;
  EXPECT_EQ(pool.block_on(client.read_some(bytes, 2ms, error)), 0u);
  EXPECT_EQ(error, std::errc::timed_out);
  EXPECT_EQ(error_of([&] { return pool.block_on(client.read_some(bytes, 2ms)); }), std::errc::timed_out);
  pool.block_on(server.write_all("text", 1h));
  EXPECT_EQ(pool.block_on(client.read_some(bytes, 1h)), 4u);
}

TEST_P(sockets, stop_sending_to_an_idle_reader_at_a_deadline) {
  connection c = connect_tcp(pool);
  std::string const much(64 * 1024 * 1024, 'x'); // more than the kernel keeps
  std::error_code error;
  pool.block_on(c.client.write_all(much, steady_clock::now() + 20ms, error));
  EXPECT_EQ(error, std::errc::timed_out);
  EXPECT_EQ(error_of([&] {
              pool.block_on(c.client.write_all(much, steady_clock::now() + 2ms));
              return 0;
            }),
            std::errc::timed_out);
}

TEST_P(sockets, of_unix_carry_bytes) {
  std::string const path = testing::TempDir() + "rubato-" + std::to_string(::getpid()) + ".socket";
  std::filesystem::remove(path);
  rubato::unix_listener listener(path);
  auto const serve = [&]() -> rubato::task<void> {
    rubato::unix_socket s = co_await listener.accept();
    co_await s.write_all("hi");
  };
  auto const ask = [&]() -> rubato::task<std::string> {
    rubato::unix_socket s = co_await rubato::unix_socket::connect(address::local(path));
    std::array<char, 8> text{};
    std::size_t const n = co_await s.read_some(text);
    co_return std::string(text.data(), n);
  };
  auto f = pool.spawn(serve);
  EXPECT_EQ(pool.spawn(ask).get(), "hi");
  f.get();
  EXPECT_EQ(listener.local_address().host(), path);
  std::filesystem::remove(path);
}

TEST_P(sockets, of_datagrams_tell_the_sender) {
  rubato::udp_socket a(address::loopback(0)), b(address::loopback(0));
  std::array<char, 3> text{};
  auto f = pool.spawn([&] { return a.receive_from(text); });
  pool.block_on(b.send_to("abcdef", a.local_address()));
  auto const d = f.get();
  EXPECT_EQ(d.size, 3u);
  EXPECT_EQ(d.from, b.local_address());
  EXPECT_EQ(std::string_view(text.data(), 3), "abc");
}

TEST_P(sockets, refuse_an_address_in_use) {
  tcp_listener const first(address::loopback(0));
  EXPECT_EQ(error_of([&] { return tcp_listener(first.local_address()); }), std::errc::address_in_use);
}

TEST_P(sockets, may_be_closed_while_other_threads_use_them) {
  std::size_t const rounds = scaled(400);
  for (std::size_t i = 0; i != rounds; ++i) {
    connection c = connect_tcp(pool);
    std::array<char, 4> bytes{}, other{};
    auto const reads = [&]() -> rubato::task<void> {
      for (;;) {
        std::error_code e;
        std::size_t const n = co_await c.client.read_some(bytes, e);
        if (e || n == 0) co_return;
      }
    };
    auto const writes = [&]() -> rubato::task<void> {
      std::error_code e;
      for (int k = 0; k != 50 && !e; ++k) co_await c.server.write_all("word", e);
    };
    auto r = pool.spawn(reads), w = pool.spawn(writes);
    std::thread closer([&] { c.client.close(); });
    // A descriptor that gets the number is not touched by the operations of the closed socket.
    std::array<int, 2> fresh{};
    ASSERT_EQ(::pipe2(fresh.data(), O_CLOEXEC | O_NONBLOCK), 0);
    ASSERT_EQ(::write(fresh[1], "k", 1), 1);
    closer.join();
    r.get();
    w.get();
    EXPECT_EQ(::read(fresh[0], other.data(), 4), 1);
    ::close(fresh[0]);
    ::close(fresh[1]);
  }
}

// The peer reads on, so that the writer may find room at each of its steps.
TEST_P(sockets, regression_write_all_notices_a_close_in_between) {
  connection c = connect_tcp(pool);
  std::string const much(std::size_t{64} << 20U, 'x'); // more than the kernel keeps
  std::thread reader([&] {
    std::vector<char> bytes(std::size_t{1} << 20U);
    pollfd awaited{.fd = c.server.native_handle(), .events = POLLIN, .revents = 0};
    for (std::size_t all = 0;;) {
      ::poll(&awaited, 1, -1);
      ssize_t const n = ::recv(awaited.fd, bytes.data(), bytes.size(), 0);
      if (n == 0 || (n < 0 && errno != EAGAIN)) return;
      if (n < 0) continue;
      all += static_cast<std::size_t>(n);
      if (all >= bytes.size() && c.client.is_open()) c.client.close();
    }
  });
  auto const e = error_of([&] { pool.block_on(c.client.write_all(much)); });
  EXPECT_TRUE(e == std::errc::bad_file_descriptor || e == std::errc::operation_canceled);
  reader.join();
}

TEST_P(sockets, accept_again_after_want_of_descriptors) {
  if (under_ubsan) GTEST_SKIP() << "a check of UndefinedBehaviorSanitizer needs a free descriptor";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  tcp_listener listener(address::loopback(0));
  connection c = connect_tcp(pool); // the reactor has its descriptors
  auto f = pool.spawn([&] { return listener.accept(); });
  rlimit few = before;
  few.rlim_cur = std::min<rlim_t>(1'000, before.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<int> all;
  for (int d = ::dup(0); d >= 0; d = ::dup(0)) all.push_back(d);
  ASSERT_FALSE(all.empty());
  ::close(all.back()); // for the client's own socket: its connection is refused
  all.pop_back();
  std::error_code e;
  tcp_socket client = pool.block_on(tcp_socket::connect(listener.local_address(), e));
  std::array<char, 1> end{};
  if (client.is_open()) static_cast<void>(pool.block_on(client.read_some(end, e)));
  for (int const d : all) ::close(d);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  tcp_socket const second = pool.block_on(tcp_socket::connect(listener.local_address()));
  EXPECT_TRUE(f.get().is_open());
}

bool is_end(std::error_code e) {
  return e == std::errc::operation_canceled || e == std::errc::bad_file_descriptor;
}

TEST_P(sockets, regression_end_their_waits_when_they_are_lost) {
  for (bool const destroyed : {true, false}) {
    connection c = connect_tcp(pool);
    auto one = std::make_unique<tcp_socket>(std::move(c.client));
    std::array<char, 4> bytes{};
    auto f = pool.spawn(one->read_some(bytes));
    if (pool.size() != 0) {
      EXPECT_TRUE(eventually([&] { return is_awaited(one->native_handle()); }));
    }
    if (destroyed)
      one.reset();
    else
      *one = tcp_socket();
    EXPECT_TRUE(is_end(error_of([&] { return f.get(); })));
    EXPECT_EQ(pool.block_on(c.server.read_some(bytes)), 0u);
  }
}

TEST_P(sockets, regression_an_accept_may_begin_without_a_listener) {
  auto listener = std::make_unique<tcp_listener>(address::loopback(0));
  auto accepting = listener->accept();
  listener.reset();
  EXPECT_TRUE(is_end(error_of([&] { return pool.block_on(std::move(accepting)); })));
}

TEST_P(sockets, begin_no_operation_after_they_were_closed) {
  connection c = connect_tcp(pool);
  pool.block_on(c.server.write_all("there"));
  std::array<char, 8> bytes{};
  auto reading = c.client.read_some(bytes);
  auto writing = c.client.write_all("late");
  c.client.close();
  EXPECT_EQ(error_of([&] { return pool.block_on(std::move(reading)); }), std::errc::bad_file_descriptor);
  EXPECT_EQ(error_of([&] { pool.block_on(std::move(writing)); }), std::errc::bad_file_descriptor);
  // Both tasks have ended, and so the descriptor is closed. Bytes that were not read make that a reset.
  std::error_code e;
  EXPECT_EQ(pool.block_on(c.server.read_some(bytes, e)), 0u);
}

TEST_P(sockets, regression_may_be_awaited_by_their_descriptor_too) {
  connection c = connect_tcp(pool);
  std::array<char, 4> bytes{};
  EXPECT_EQ(pool.block_on(rubato::readable(c.client.native_handle(), steady_clock::now() + 1ms)),
            std::errc::timed_out);
  for (int i = 0; i != 3; ++i) {
    auto f = pool.spawn([&] { return c.client.read_some(bytes); });
    if (pool.size() != 0) {
      EXPECT_TRUE(eventually([&] { return is_awaited(c.client.native_handle()); }));
    }
    pool.block_on(c.server.write_all("ab"));
    EXPECT_EQ(f.get(), 2u);
    auto g = pool.spawn(rubato::readable(c.client.native_handle()));
    pool.block_on(c.server.write_all("cd"));
    EXPECT_EQ(g.get(), std::errc());
    EXPECT_EQ(pool.block_on(c.client.read_some(bytes)), 2u);
  }
}

TEST_P(sockets, regression_connect_beside_a_full_unix_backlog) {
  std::string const name = std::string(1, '\0') + "rubato-backlog-" + std::to_string(::getpid());
  rubato::unix_listener listener(address::local(name), 0);
  std::vector<rubato::unix_socket> waiting;
  std::error_code e;
  while (!e) {
    auto s = pool.block_on(rubato::unix_socket::connect(address::local(name), steady_clock::now() + 20ms, e));
    if (!e) waiting.push_back(std::move(s));
  }
  EXPECT_EQ(e, std::errc::timed_out);
  ASSERT_FALSE(waiting.empty());
  auto f = pool.spawn(rubato::unix_socket::connect(address::local(name)));
  for (std::size_t i = 0; i <= waiting.size(); ++i) EXPECT_TRUE(pool.block_on(listener.accept()).is_open());
  rubato::unix_socket const connected = f.get();
  EXPECT_TRUE(connected.is_open());
}

TEST_P(sockets, regression_that_never_wait_end_with_their_pool) {
  if (pool.size() == 0) return;
  connection c = connect_tcp(pool);
  int const fd = ::dup(c.server.native_handle());
  std::atomic<bool> over = false;
  std::thread flood([&] {
    std::array<char, 1 << 16> const bytes{};
    while (!over) static_cast<void>(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  });
  auto const reads = [&]() -> rubato::task<void> {
    std::array<char, 16> some{};
    for (;;) co_await c.client.read_some(some);
  };
  auto f = pool.spawn(reads);
  EXPECT_EQ(pool.spawn([] { return 1; }).get(), 1); // other tasks run, too
  pool.shutdown(rubato::discard);
  over = true;
  flood.join();
  ::close(fd);
  EXPECT_NE(outcome_of_get(f), outcome::value);
}

TEST(bytes, to_send_are_those_of_a_text_or_of_a_whole_array) {
  char const* const text = "abc";
  char some[3] = {'a', 'b', 'c'};
  std::byte raw[2]{};
  EXPECT_EQ(rubato::bytes_to_send("abc").size(), 3u);
  EXPECT_EQ(rubato::bytes_to_send(text).size(), 3u);
  EXPECT_EQ(rubato::bytes_to_send(some).size(), 3u);
  EXPECT_EQ(rubato::bytes_to_send(raw).size(), 2u);
  EXPECT_EQ(rubato::bytes_to_send(std::string("abcd")).size(), 4u);
}

TEST(addresses, are_values_with_a_text) {
  address const a("127.0.0.1", 80), b("::1", 443);
  EXPECT_EQ(a.to_string(), "127.0.0.1:80");
  EXPECT_EQ(b.to_string(), "[::1]:443");
  EXPECT_EQ(b.host(), "::1");
  EXPECT_EQ(b.port(), 443);
  EXPECT_EQ(a, address("127.0.0.1", 80));
  EXPECT_FALSE(a == b);
  EXPECT_EQ(address::local("/tmp/x").to_string(), "/tmp/x");
  EXPECT_EQ(address().to_string(), "");
  EXPECT_EQ(address::local(std::string(107, 'x')).host(), std::string(107, 'x'));
  EXPECT_THROW(address("localhost", 1), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(address::local("")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(address::local(std::string(200, 'x'))), std::invalid_argument);
}

TEST_P(sockets, resolve_finds_the_addresses_of_a_name) {
  auto const found = pool.block_on(rubato::resolve("127.0.0.1", "80"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front(), address("127.0.0.1", 80));
  EXPECT_THROW(static_cast<void>(pool.block_on(rubato::resolve("127.0.0.1", "no-such-service"))),
               std::system_error);
}

} // namespace
