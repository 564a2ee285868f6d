// What `buffered` reads: sockets of its own and of the caller's, descriptors of all kinds, other streams.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

#include "io/byte_streams.hpp"
#include "io/descriptors.hpp"
#include "support/loopback.hpp"
#include "support/pools.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using namespace std::string_literals;
using rubato::buffered;
using rubato::tcp_socket;
using std::chrono::steady_clock;
using text = std::optional<std::string>;

class buffered_sources : public on_workers {};
RUBATO_TEST_WITH_WORKERS(buffered_sources, all_counts);

// What they hold.

static_assert(std::is_same_v<decltype(buffered(std::declval<tcp_socket>())), buffered<tcp_socket>>);
static_assert(std::is_same_v<decltype(buffered(std::declval<tcp_socket&>())), buffered<tcp_socket&>>);
static_assert(
    std::is_same_v<decltype(buffered(std::declval<tcp_socket const&>())), buffered<tcp_socket const&>>);
static_assert(std::is_same_v<decltype(buffered(std::declval<int>())), buffered<int>>);
static_assert(std::is_same_v<decltype(buffered(std::declval<int&>())), buffered<int>>);
static_assert(std::is_same_v<decltype(buffered(std::declval<int const&>())), buffered<int>>);
static_assert(std::is_same_v<decltype(buffered(std::declval<buffered<tcp_socket>>())), buffered<tcp_socket>>);
static_assert(!std::is_copy_constructible_v<buffered<int>>);
static_assert(std::is_nothrow_move_constructible_v<buffered<tcp_socket>>);
static_assert(std::is_nothrow_move_assignable_v<buffered<tcp_socket&>>);

TEST_P(buffered_sources, regression_own_rvalues_and_refer_to_lvalues) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  connected<tcp_socket> c = connect_tcp(pool);
  std::array<char, 4> bytes{};
  {
    buffered const refers(c.server);
  }
  pool.block_on(c.server.write_all("open"));
  EXPECT_EQ(pool.block_on(c.client.read_some(bytes)), 4u);
  {
    buffered const owns(std::move(c.server));
  }
  EXPECT_EQ(pool.block_on(c.client.read_some(bytes)), 0u);
}

TEST_P(buffered_sources, regression_never_close_a_descriptor) {
  ends both = make_pipe();
  {
    buffered in(both.a.get());
    EXPECT_EQ(in.stream(), both.a.get());
    put(both.b, "a\nb\n");
    EXPECT_EQ(pool.block_on(in.read_line(10)), "a");
  }
  EXPECT_NE(::fcntl(both.a.get(), F_GETFD), -1);
  rubato::forget(both.a.get());
}

template<class S>
void expect_nothing(rubato::pool& pool, buffered<S>& moved_from) {
  std::error_code error;
  EXPECT_EQ(pool.block_on(moved_from.read_line(10, error)), std::nullopt);
  EXPECT_EQ(error, std::errc::bad_file_descriptor);
  EXPECT_EQ(error_of([&] { return pool.block_on(moved_from.read_line(10)); }),
            std::errc::bad_file_descriptor);
}

TEST_P(buffered_sources, regression_take_their_buffer_in_a_move) {
  ends a = make_pipe(), b = make_pipe();
  put(a.b, "1\n2\n3\n");
  put(b.b, "lost\nx\n");
  buffered first(a.a.get()), other(b.a.get());
  EXPECT_EQ(pool.block_on(first.read_line(10)), "1");
  EXPECT_EQ(pool.block_on(other.read_line(10)), "lost");
  buffered second(std::move(first));
  expect_nothing(pool, first); // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(pool.block_on(second.read_line(10)), "2");
  other = std::move(second);
  expect_nothing(pool, second); // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(pool.block_on(other.read_line(10)), "3");
  rubato::forget(a.a.get());
  rubato::forget(b.a.get());

  connected<rubato::unix_socket> c = connect_local(pool);
  pool.block_on(c.client.write_all("1\n2\n3\n"));
  buffered refers(c.server);
  EXPECT_EQ(pool.block_on(refers.read_line(10)), "1");
  buffered refers_too(std::move(refers));
  expect_nothing(pool, refers); // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(pool.block_on(refers_too.read_line(10)), "2");
  pool.block_on(c.client.write_all("4\n"));
  buffered owns(std::move(c.server));
  EXPECT_EQ(pool.block_on(owns.read_line(10)), "4"); // it has no part in the buffer of the others
  buffered owns_too(std::move(owns));
  expect_nothing(pool, owns); // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(owns_too.stream().is_open());
}

TEST_P(buffered_sources, regression_end_when_their_socket_is_closed) {
  connected<rubato::unix_socket> c = connect_local(pool);
  buffered in(std::move(c.server));
  pool.block_on(c.client.write_all("part"));
  auto f = pool.spawn(in.read_line(10));
  auto const close = [&]() -> rubato::task<void> {
    co_await until_awaited(in.stream().native_handle());
    in.stream().close();
  };
  pool.spawn(close).get();
  EXPECT_EQ(error_of([&] { return f.get(); }), std::errc::operation_canceled);
  std::array<char, 4> bytes{};
  EXPECT_EQ(pool.block_on(in.read_exactly(bytes)), 4u); // they are in the buffer
}

// Descriptors of all sorts.

TEST_P(buffered_sources, regression_end_with_their_descriptor) {
  ends both = make_pipe();
  buffered in(both.a.get());
  auto f = pool.spawn(in.read_line(10));
  auto const end = [&]() -> rubato::task<void> {
    co_await until_awaited(both.a.get());
    rubato::forget(both.a.get());
  };
  pool.spawn(end).get();
  EXPECT_EQ(error_of([&] { return f.get(); }), std::errc::operation_canceled);
}

TEST_P(buffered_sources, regression_read_a_descriptor_that_blocks) {
  std::array<int, 2> both{};
  ASSERT_EQ(::pipe2(both.data(), O_CLOEXEC), 0);
  fd const a(both[0]), b(both[1]);
  buffered in(a.get());
  EXPECT_EQ(error_of([&] { return pool.block_on(in.read_line(10, 1ms)); }), std::errc::timed_out);
  put(b, "one\ntwo");
  EXPECT_EQ(pool.block_on(in.read_line(10)), "one");
  EXPECT_EQ(error_of([&] { return pool.block_on(in.read_line(10, 1ms)); }), std::errc::timed_out);
  put(b, "\n");
  EXPECT_EQ(pool.block_on(in.read_line(10)), "two");
  rubato::forget(a.get());
}

TEST_P(buffered_sources, regression_read_regular_files) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(std::tmpfile(), &std::fclose);
  ASSERT_NE(file, nullptr);
  std::string const large(50'000, 'x');
  std::fputs(("one\n" + large + "\nlast").c_str(), file.get());
  std::fflush(file.get());
  ASSERT_EQ(::lseek(::fileno(file.get()), 0, SEEK_SET), 0);
  auto const read = [&]() -> rubato::task<void> {
    buffered in(::fileno(file.get()));
    for (std::string const& expected : {"one"s, large, "last"s}) {
      text const t = co_await in.read_line(100'000, 1h);
      EXPECT_EQ(t, expected);
    }
    text const end = co_await in.read_line(10);
    EXPECT_EQ(end, std::nullopt);
  };
  pool.spawn(read).get();
}

TEST_P(buffered_sources, regression_read_terminals) {
  fd const master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_EQ(::grantpt(master.get()), 0);
  ASSERT_EQ(::unlockpt(master.get()), 0);
  fd const terminal(::open(::ptsname(master.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  buffered in(terminal.get());
  EXPECT_EQ(error_of([&] { return pool.block_on(in.read_line(10, 1ms)); }), std::errc::timed_out);
  put(master, "typed\n");
  EXPECT_EQ(pool.block_on(in.read_line(10)), "typed");
  put(master, "no end\x04\x04"); // an end of file, after which a terminal goes on
  EXPECT_EQ(pool.block_on(in.read_line(10)), "no end");
  put(master, "and on\n");
  EXPECT_EQ(pool.block_on(in.read_line(10)), "and on");
  rubato::forget(terminal.get());
}

TEST_P(buffered_sources, regression_report_unreadable_descriptors) {
  for (int const none : {-1, 1'000'000}) {
    buffered in(none);
    EXPECT_EQ(error_of([&] { return pool.block_on(in.read_line(10)); }), std::errc::bad_file_descriptor);
  }
  fd const folder(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  buffered in(folder.get());
  EXPECT_EQ(error_of([&] { return pool.block_on(in.read_line(10)); }), std::errc::is_a_directory);
  fd const null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  buffered nothing(null.get());
  EXPECT_EQ(pool.block_on(nothing.read_line(10)), std::nullopt);
}

/// A stream in memory, which notes what is read.
struct memory_stream {
  std::string text;
  std::vector<std::span<std::byte>> reads;

  rubato::task<std::size_t> read_some(rubato::bytes_to_fill into, steady_clock::time_point /*deadline*/) {
    reads.push_back(into);
    std::size_t const n = std::min(into.size(), text.size());
    std::copy_n(reinterpret_cast<std::byte const*>(text.data()), n, into.data());
    text.erase(0, n);
    co_return n;
  }
  rubato::task<std::size_t> read_some(rubato::bytes_to_fill into, steady_clock::time_point deadline,
                                      std::error_code& error) {
    error.clear();
    return read_some(into, deadline);
  }
};

TEST_P(buffered_sources, regression_read_large_messages_directly) {
  memory_stream from{.text = "head" + std::string(100'000, 'x') + "tail", .reads = {}};
  buffered in(from);
  std::string head(4, '?'), large(100'000, '?'), tail(4, '?');
  std::error_code error;
  EXPECT_EQ(pool.block_on(in.read_exactly(head)), 4u);
  ASSERT_EQ(from.reads.size(), 1u);
  std::size_t const ahead = from.reads[0].size() - 4;
  EXPECT_EQ(pool.block_on(in.read_exactly(large, error)), large.size());
  ASSERT_EQ(from.reads.size(), 2u);
  EXPECT_EQ(static_cast<void*>(from.reads[1].data()), large.data() + ahead);
  EXPECT_EQ(from.reads[1].size(), large.size() - ahead); // not a byte more
  EXPECT_EQ(pool.block_on(in.read_exactly(tail, error)), 4u);
  EXPECT_EQ(head + tail, "headtail");
  EXPECT_EQ(large, std::string(100'000, 'x'));
}

TEST_P(buffered_sources, regression_read_many_lines_at_a_time) {
  memory_stream from;
  for (int i = 0; i != 1'000; ++i) from.text += std::to_string(i) + "\n";
  std::size_t const size = from.text.size();
  buffered in(std::move(from));
  for (int i = 0; i != 1'000; ++i) EXPECT_EQ(pool.block_on(in.read_line(10)), std::to_string(i));
  EXPECT_EQ(pool.block_on(in.read_line(10)), std::nullopt);
  EXPECT_LE(in.stream().reads.size(), 2 + size / 1'024);
}

} // namespace
