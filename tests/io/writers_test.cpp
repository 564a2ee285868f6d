// Two tasks that write to one socket: the bytes of each arrive together, or it is told before it sends any.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "io/byte_streams.hpp"
#include "support/loopback.hpp"
#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::address;
using rubato::tcp_listener;
using rubato::tcp_socket;

class two_writers : public on_workers {
  void SetUp() override {
    if (!has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  }
};
RUBATO_TEST_WITH_WORKERS(two_writers, all_counts);

/// A writer of much, and a reader that leaves room now and then; a second writer tries to send meanwhile.
template<class Socket>
rubato::task<void> write_twice(Socket const& writer, Socket const& reader) {
  std::string const much(std::size_t{16} << 20U, 'a');
  std::atomic<bool> over{false};
  auto const first = [&]() -> rubato::task<void> {
    std::error_code error;
    do { // the second one may have begun
      co_await rubato::yield();
      co_await writer.write_all(much, error);
    } while (error == std::errc::device_or_resource_busy);
    EXPECT_FALSE(error);
    over = true;
  };
  auto const second = [&]() -> rubato::task<void> {
    std::error_code error;
    while (!over) {
      co_await writer.write_all(std::string_view("b"), error);
      if (!error) break; // the first one had not begun, or has ended
      EXPECT_EQ(error, std::errc::device_or_resource_busy);
      co_await rubato::yield();
    }
  };
  auto const reads = [&]() -> rubato::task<void> {
    std::vector<char> bytes(std::size_t{1} << 16U);
    std::string seen; // without repetitions
    for (std::size_t left = much.size(); left != 0;) {
      std::size_t const n = co_await reader.read_some(bytes);
      for (char const b : std::string_view(bytes.data(), n)) {
        if (seen.empty() || seen.back() != b) seen += b;
        if (b == 'a') --left;
      }
    }
    EXPECT_TRUE(seen == "a" || seen == "ba" || seen == "ab") << seen;
  };
  auto all = rubato::when_all(first(), reads(), second());
  co_await std::move(all);
}

TEST_P(two_writers, regression_bytes_of_two_writers_are_not_mixed) {
  auto const c = connect_tcp(pool);
  pool.block_on(write_twice(c.client, c.server));

  std::string const path = "/tmp/rubato-two-writers-" + std::to_string(::getpid());
  std::filesystem::remove(path);
  rubato::unix_listener const listener(path);
  auto const client = pool.block_on(rubato::unix_socket::connect(address::local(path)));
  auto const server = pool.block_on(listener.accept());
  pool.block_on(write_twice(client, server));
  std::filesystem::remove(path);
}

TEST_P(two_writers, regression_the_second_is_told_before_it_waits) {
  auto const c = connect_tcp(pool);
  std::string const much(std::size_t{64} << 20U, 'x'); // more than the kernel keeps
  rubato::pool other(1);
  auto const waits = [&] { return is_awaited(c.client.native_handle(), rubato::detail::direction::writing); };
  auto const expect_taken = [&] {
    EXPECT_EQ(error_of([&] { other.block_on(c.client.write_all("y")); }), std::errc::device_or_resource_busy);
    std::error_code error;
    pool.block_on(c.client.write_all("y", 1h, error));
    EXPECT_EQ(error, std::errc::device_or_resource_busy);
    other.block_on(c.client.write_all("", error));
    EXPECT_FALSE(error) << "there is nothing to send";
  };
  auto const expect_free = [&] {
    EXPECT_EQ(error_of([&] { pool.block_on(c.client.write_all(much, 1ms)); }), std::errc::timed_out);
  };
  { // a stop
    auto f = other.spawn(c.client.write_all(much));
    EXPECT_TRUE(eventually(waits));
    expect_taken();
    f.cancel();
    EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
    expect_free();
  }
  { // the end of its pool
    rubato::pool ends(1);
    auto f = ends.spawn(c.client.write_all(much));
    EXPECT_TRUE(eventually(waits));
    expect_taken();
    ends.shutdown(rubato::discard);
    expect_free();
  }
  { // the deadline of an enclosing wait
    bool const in_time = pool.block_on(rubato::with_deadline(c.client.write_all(much), 1ms));
    EXPECT_FALSE(in_time);
    expect_free();
  }
  { // the end of sending
    auto f = other.spawn(c.client.write_all(much));
    EXPECT_TRUE(eventually(waits));
    expect_taken();
    c.client.shutdown();
    EXPECT_EQ(error_of([&] { f.get(); }), std::errc::broken_pipe);
    EXPECT_EQ(error_of([&] { pool.block_on(c.client.write_all("y")); }), std::errc::broken_pipe);
  }
}

} // namespace
