// How connections and listeners begin and end: refused, shut down, closed beside operations.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "io/byte_streams.hpp"
#include "os/io/socket.hpp"
#include "support/loopback.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::address;
using rubato::tcp_listener;
using rubato::tcp_socket;

class connection_ends : public on_workers {
  void SetUp() override {
    if (!has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  }
};
RUBATO_TEST_WITH_WORKERS(connection_ends, all_counts);

using connection = connected<tcp_socket>;

std::error_code error_of(auto&& f) {
  try {
    static_cast<void>(f());
    return {};
  } catch (std::system_error const& e) {
    return e.code();
  }
}

bool is_end(std::error_code e) {
  return e == std::errc::operation_canceled || e == std::errc::bad_file_descriptor;
}

rubato::task<void> write_until_it_ends(rubato::stream_socket& to, std::string const& bytes,
                                       std::error_code& e) {
  co_await to.write_all(bytes, e);
}

TEST_P(connection_ends, regression_shut_down_tells_a_waiting_task) {
  std::string const much(std::size_t{16} << 20, 'x');
  ends const peers = make_pair();
  rubato::unix_listener const listener(fresh_local_address());
  for (auto const which : {rubato::socket_end::sending, rubato::socket_end::both}) {
    auto local = connect_to<rubato::unix_socket>(pool, listener);
    auto tcp = connect_tcp(pool);
    std::error_code of_local, of_tcp;
    auto f = pool.spawn(write_until_it_ends(local.client, much, of_local));
    auto g = pool.spawn(write_until_it_ends(tcp.client, much, of_tcp));
    pool.block_on(until_awaited(local.client.native_handle(), direction::writing));
    pool.block_on(until_awaited(tcp.client.native_handle(), direction::writing));
    local.client.shutdown(which);
    tcp.client.shutdown(which);
    f.get();
    g.get();
    EXPECT_EQ(of_local, std::errc::broken_pipe);
    EXPECT_EQ(of_tcp, std::errc::broken_pipe);
  }
}

TEST_P(connection_ends, regression_shut_down_of_receiving_ends_reads) {
  rubato::unix_listener const listener(fresh_local_address());
  auto local = connect_to<rubato::unix_socket>(pool, listener);
  auto tcp = connect_tcp(pool);
  std::array<char, 4> a{}, b{};
  auto f = pool.spawn(local.client.read_some(a));
  auto g = pool.spawn(tcp.client.read_some(b));
  pool.block_on(until_awaited(local.client.native_handle()));
  pool.block_on(until_awaited(tcp.client.native_handle()));
  local.client.shutdown(rubato::socket_end::receiving);
  tcp.client.shutdown(rubato::socket_end::receiving);
  EXPECT_EQ(f.get(), 0u);
  EXPECT_EQ(g.get(), 0u);
}

TEST_P(connection_ends, regression_close_ends_listening_in_an_accept) {
  for (int i = 0; i != 20; ++i) {
    auto first = std::make_unique<tcp_listener>(address::loopback(0));
    address const at = first->local_address();
    auto unbegun = first->accept(); // holds the descriptor
    auto accepting = pool.spawn(first->accept());
    if (i % 2 == 0)
      first->close();
    else
      first.reset();
    EXPECT_NO_THROW(tcp_listener{at});
    std::error_code e;
    EXPECT_FALSE(pool.block_on(tcp_socket::connect(at, e)).is_open());
    EXPECT_EQ(e, std::errc::connection_refused);
    EXPECT_TRUE(is_end(error_of([&] { accepting.get(); })));
    EXPECT_TRUE(is_end(error_of([&] { pool.block_on(std::move(unbegun)); })));
  }
}

TEST_P(connection_ends, regression_close_ends_a_busy_connection) {
  connection c = connect_tcp(pool);
  std::array<char, 4> a{}, b{};
  auto unbegun = c.client.read_some(a); // holds the descriptor
  c.client.close();
  EXPECT_EQ(pool.block_on(c.server.read_some(b)), 0u);
  EXPECT_TRUE(is_end(error_of([&] { pool.block_on(std::move(unbegun)); })));
}

TEST_P(connection_ends, regression_show_no_end_of_stream_when_closed) {
  for (int i = 0; i != 300; ++i) {
    connection c = connect_tcp(pool);
    std::array<char, 4> bytes{};
    auto f = pool.spawn(c.client.read_some(bytes));
    std::thread closes([&] { c.client.close(); });
    EXPECT_TRUE(is_end(error_of([&] { f.get(); })));
    closes.join();
  }
}

TEST_P(connection_ends, regression_pause_ever_longer_for_a_backlog) {
  address const at = fresh_local_address();
  rubato::unix_listener const listener(at, 0);
  std::vector<rubato::unix_socket> in_backlog;
  std::error_code e;
  while (!e) in_backlog.push_back(pool.block_on(rubato::unix_socket::connect(at, 20ms, e)));
  auto const before = pool.stats().timers;
  EXPECT_EQ(error_of([&] { pool.block_on(rubato::unix_socket::connect(at, 500ms)); }), std::errc::timed_out);
  EXPECT_LT(pool.stats().timers - before, 40u); // 1, 2, 4 ... 64, 64 ms; it was one for each
}

TEST(connections, regression_of_a_socket_with_itself_are_seen) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  fd const s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  address const any = address::loopback(0);
  ASSERT_EQ(::bind(s.get(), static_cast<sockaddr const*>(any.data()), static_cast<socklen_t>(any.size())), 0);
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  ASSERT_EQ(::getsockname(s.get(), reinterpret_cast<sockaddr*>(&own), &size), 0);
  ASSERT_EQ(::connect(s.get(), reinterpret_cast<sockaddr*>(&own), size), 0);
  EXPECT_TRUE(rubato::os::is_connected_to_itself(s.get()));
  tcp_listener const listener(address::loopback(0));
  tcp_socket const other = rubato::block_on(tcp_socket::connect(listener.local_address()));
  EXPECT_FALSE(rubato::os::is_connected_to_itself(other.native_handle()));
}

TEST(connections, regression_without_a_listener_are_refused) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  address const at = tcp_listener(address::loopback(0)).local_address();
  auto const client = [&]() -> rubato::task<int> {
    int made = 0;
    for (std::size_t i = 0; i != scaled(3'000); ++i) {
      std::error_code e;
      tcp_socket const s = co_await tcp_socket::connect(address::loopback(at.port() & 0xfffeU), e);
      made += s.is_open() ? 1 : 0;
    }
    co_return made;
  };
  EXPECT_EQ(rubato::block_on(client()), 0);
}

TEST_P(connection_ends, regression_without_descriptors_refuse_all) {
  if (under_ubsan) GTEST_SKIP() << "a check of UndefinedBehaviorSanitizer needs a free descriptor";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  connection const c = connect_tcp(pool); // the reactor has its descriptors
  tcp_listener listener(address::loopback(0));
  address const at = listener.local_address();
  std::vector<fd> clients;
  for (int i = 0; i != 200; ++i) {
    clients.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(clients.back().get(), static_cast<sockaddr const*>(at.data()),
                        static_cast<socklen_t>(at.size())),
              0);
  }
  rlimit few = before;
  few.rlim_cur = std::min<rlim_t>(1'000, before.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<int> all;
  for (int d = ::dup(0); d >= 0; d = ::dup(0)) all.push_back(d);
  auto const timers = pool.stats().timers;
  std::error_code of_accept;
  auto f = pool.spawn(listener.accept(of_accept));
  char none = 0;
  auto const told = [&]() -> rubato::task<void> {
    for (auto const& one : clients) {
      pollfd p{.fd = one.get(), .events = POLLIN, .revents = 0};
      while (::poll(&p, 1, 0) == 0) co_await rubato::yield();
    }
  };
  pool.block_on(told());
  EXPECT_LT(pool.stats().timers - timers, 100u); // one pause for all, not one for each
  for (auto const& one : clients) EXPECT_LE(::recv(one.get(), &none, 1, MSG_DONTWAIT), 0);
  for (int const d : all) ::close(d);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  listener.close();
  f.get();
}

} // namespace
