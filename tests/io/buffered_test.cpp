// Lines and messages from a stream: what an operation yields, what it leaves in the buffer when it fails, and
// how it ends.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "io/byte_streams.hpp"
#include "io/descriptors.hpp"
#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using namespace std::string_literals;
using rubato::buffered;
using rubato::tcp_socket;
using std::chrono::steady_clock;
using text = std::optional<std::string>;

class buffered_streams : public on_workers {
protected:
  /// Calls f with a stream of each kind.
  template<class F>
  void of_each_kind(F f) {
    for (stream_kind const k : stream_kinds()) {
      SCOPED_TRACE(k);
      byte_stream s(pool, k);
      f(s);
    }
  }
  text line(byte_stream& s, std::size_t limit = 1'000) { return pool.block_on(s.in().read_line(limit)); }
  text until(byte_stream& s, std::string_view delimiter, std::size_t limit = 1'000) {
    return pool.block_on(s.in().read_until(delimiter, limit));
  }
  /// What read_exactly() yields of so many bytes.
  std::string exactly(byte_stream& s, std::size_t n) {
    std::string bytes(n, '?');
    bytes.resize(pool.block_on(s.in().read_exactly(bytes)));
    return bytes;
  }
};
RUBATO_TEST_WITH_WORKERS(buffered_streams, all_counts);

TEST_P(buffered_streams, regression_yield_lines_without_their_ends) {
  of_each_kind([&](byte_stream& s) {
    s.put("one\ntwo\r\n\n\r\na\rb\r\r\nlast\r");
    s.end();
    for (char const* const expected : {"one", "two", "", "", "a\rb\r", "last\r"})
      EXPECT_EQ(line(s), expected);
    EXPECT_EQ(line(s), std::nullopt);
    EXPECT_EQ(line(s), std::nullopt);
  });
}

TEST_P(buffered_streams, regression_of_no_bytes_have_no_text) {
  of_each_kind([&](byte_stream& s) {
    s.end();
    EXPECT_EQ(line(s), std::nullopt);
    EXPECT_EQ(until(s, "--"), std::nullopt);
    EXPECT_EQ(exactly(s, 3), "");
  });
}

TEST_P(buffered_streams, regression_find_a_delimiter_in_parts) {
  of_each_kind([&](byte_stream& s) {
    for (char const* const part : {"a-", "-", "-b-", "-"}) {
      s.put(part);
      auto none = pool.spawn(s.in().read_until("-->", 100, 1ms));
      EXPECT_EQ(error_of([&] { return none.get(); }), std::errc::timed_out);
    }
    s.put(">rest-->");
    EXPECT_EQ(until(s, "-->"), "a---b");
    EXPECT_EQ(until(s, "-->"), "rest");
  });
}

TEST_P(buffered_streams, regression_carry_any_bytes) {
  of_each_kind([&](byte_stream& s) {
    s.put("\0a\0\0b\xff\r\n\0"s);
    s.end();
    EXPECT_EQ(until(s, "\0"s), "");
    EXPECT_EQ(until(s, "\0\0"s), "a");
    EXPECT_EQ(until(s, "\n"), "b\xff\r");
    EXPECT_EQ(line(s), "\0"s);
    EXPECT_EQ(line(s), std::nullopt);
  });
}

TEST_P(buffered_streams, regression_refuse_an_empty_delimiter) {
  byte_stream s(pool, stream_kind::pipe);
  std::error_code error;
  EXPECT_THROW(static_cast<void>(s.in().read_until("", 10)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(s.in().read_until("", 10, error)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(s.in().read_until("", 10, 1h, error)), std::invalid_argument);
}

TEST_P(buffered_streams, regression_copy_the_delimiter) {
  byte_stream s(pool, stream_kind::pipe);
  auto delimiter = std::make_unique<std::string>("a delimiter on the heap");
  auto waits = s.in().read_until(*delimiter, 100);
  s.put("text" + *delimiter);
  delimiter->assign(delimiter->size(), '?');
  delimiter.reset();
  EXPECT_EQ(pool.block_on(std::move(waits)), "text");
}

// Limits.

TEST_P(buffered_streams, regression_yield_a_text_of_just_the_limit) {
  of_each_kind([&](byte_stream& s) {
    s.put("12345\n12345\r\n12345--\n\r\n--12345");
    s.end();
    EXPECT_EQ(line(s, 5), "12345");
    EXPECT_EQ(line(s, 5), "12345");
    EXPECT_EQ(until(s, "--", 5), "12345");
    EXPECT_EQ(line(s, 0), "");
    EXPECT_EQ(line(s, 0), "");
    EXPECT_EQ(until(s, "--", 0), "");
    EXPECT_EQ(line(s, 5), "12345");
    EXPECT_EQ(line(s, 0), std::nullopt);
  });
}

TEST_P(buffered_streams, regression_take_nothing_beyond_the_limit) {
  of_each_kind([&](byte_stream& s) {
    s.put("123456\n");
    EXPECT_THROW(line(s, 5), std::length_error);
    EXPECT_THROW(until(s, "\n", 0), std::length_error);
    std::error_code error;
    EXPECT_EQ(pool.block_on(s.in().read_line(5, error)), std::nullopt);
    EXPECT_EQ(error, std::errc::message_size);
    EXPECT_EQ(pool.block_on(s.in().read_until("\n", 5, 1h, error)), std::nullopt);
    EXPECT_EQ(error, std::errc::message_size);
    EXPECT_EQ(line(s, 6), "123456");
    s.put("123456");
    s.end();
    EXPECT_THROW(line(s, 5), std::length_error); // the last one, too
    EXPECT_EQ(exactly(s, 10), "123456");
  });
}

/// Else a peer could hold the reader up with a text that will never do.
TEST_P(buffered_streams, regression_tell_at_once_of_too_long_a_text) {
  of_each_kind([&](byte_stream& s) {
    s.put("123456");
    EXPECT_THROW(line(s, 5), std::length_error);
    EXPECT_THROW(until(s, "--", 5), std::length_error);
    EXPECT_EQ(exactly(s, 6), "123456");
    for (char const* const part : {"12345", "\r"}) { // either may go on with an end
      s.put(part);
      EXPECT_EQ(error_of([&] { return pool.block_on(s.in().read_line(5, 1ms)); }), std::errc::timed_out);
    }
    s.put("\r");
    EXPECT_THROW(line(s, 5), std::length_error);
    EXPECT_EQ(exactly(s, 7), "12345\r\r");
    s.put("12345--");
    EXPECT_EQ(error_of([&] { return pool.block_on(s.in().read_until("--->", 5, 1ms)); }),
              std::errc::timed_out);
    s.put("x");
    EXPECT_THROW(until(s, "--->", 5), std::length_error);
  });
}

TEST_P(buffered_streams, regression_take_any_limit) {
  of_each_kind([&](byte_stream& s) {
    std::string const longer(300'000, 'x');
    std::thread writer([&] { s.put(longer + "\n" + longer + "--"); });
    EXPECT_EQ(line(s, ~std::size_t{0}), longer);
    EXPECT_EQ(until(s, "--", ~std::size_t{0} - 1), longer);
    writer.join();
  });
}

// Messages of known length.

TEST_P(buffered_streams, regression_fill_the_memory_exactly) {
  of_each_kind([&](byte_stream& s) {
    std::string const large(100'000, 'l');
    std::thread writer([&] {
      s.put("head" + large + "tail" + large);
      s.end();
    });
    EXPECT_EQ(exactly(s, 0), "");
    EXPECT_EQ(exactly(s, 4), "head");
    EXPECT_EQ(exactly(s, large.size()), large);
    EXPECT_EQ(exactly(s, 4), "tail");
    EXPECT_EQ(exactly(s, 2 * large.size()), large); // fewer, at the end
    EXPECT_EQ(exactly(s, 4), "");
    writer.join();
  });
}

TEST_P(buffered_streams, regression_yield_fewer_bytes_at_the_end) {
  of_each_kind([&](byte_stream& s) {
    s.put("abc");
    EXPECT_EQ(error_of([&] {
                std::array<char, 5> bytes{};
                return pool.block_on(s.in().read_exactly(bytes, 1ms));
              }),
              std::errc::timed_out);
    s.end();
    EXPECT_EQ(exactly(s, 5), "abc");
    EXPECT_EQ(exactly(s, 5), "");
  });
}

TEST_P(buffered_streams, regression_hand_the_rest_to_a_new_protocol) {
  of_each_kind([&](byte_stream& s) {
    s.put("upgrade\nraw");
    EXPECT_EQ(line(s), "upgrade");
    std::array<char, 2> some{};
    EXPECT_EQ(pool.block_on(s.in().read_some(some)), 2u);
    EXPECT_EQ(pool.block_on(s.in().read_some(some)), 1u);
    EXPECT_EQ(some[0], 'w');
    std::error_code error;
    EXPECT_EQ(pool.block_on(s.in().read_some(some, 1ms, error)), 0u);
    EXPECT_EQ(error, std::errc::timed_out);
    std::string large(10'000, '?');
    s.put("more");
    EXPECT_EQ(pool.block_on(s.in().read_some(large, error)), 4u);
    EXPECT_FALSE(error);
    EXPECT_TRUE(large.starts_with("more?"));
    s.end();
    EXPECT_EQ(pool.block_on(s.in().read_some(some)), 0u);
  });
}

// What stays.

TEST_P(buffered_streams, regression_keep_what_a_deadline_interrupts) {
  of_each_kind([&](byte_stream& s) {
    std::string large(9'000, '?');
    s.put("ab");
    for (int i = 0; i != 3; ++i) {
      EXPECT_EQ(error_of([&] { return pool.block_on(s.in().read_line(100, 1ms)); }), std::errc::timed_out);
      EXPECT_EQ(error_of([&] { return pool.block_on(s.in().read_exactly(large, 1ms)); }),
                std::errc::timed_out);
      std::error_code error;
      EXPECT_EQ(pool.block_on(s.in().read_exactly(std::span(large).first(100), 1ms, error)), 0u);
      EXPECT_EQ(error, std::errc::timed_out);
      s.put("c");
    }
    EXPECT_EQ(error_of([&] { return pool.block_on(s.in().read_exactly(large, 1ms)); }), std::errc::timed_out);
    s.put("\n");
    EXPECT_EQ(line(s), "abccc");
  });
}

TEST_P(buffered_streams, regression_keep_what_a_stop_interrupts) {
  of_each_kind([&](byte_stream& s) {
    std::string large(9'000, '?');
    for (bool const of_line : {true, false, true}) {
      s.put("part ");
      auto waits = [&]() -> rubato::task<void> {
        if (of_line)
          co_await s.in().read_line(100);
        else
          co_await s.in().read_exactly(large);
      };
      auto f = pool.spawn(waits);
      auto const stop = [&]() -> rubato::task<void> {
        co_await until_awaited(s.fd());
        f.cancel();
      };
      pool.spawn(stop).get();
      EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
    }
    s.put("\n");
    EXPECT_EQ(line(s), "part part part ");
  });
}

TEST_P(buffered_streams, regression_keep_what_a_pools_end_interrupts) {
  for (bool const discards : {true, false}) {
    of_each_kind([&](byte_stream& s) {
      rubato::pool ends(1);
      std::string large(9'000, '?');
      s.put("part ");
      auto f = ends.spawn(s.in().read_exactly(large));
      ASSERT_TRUE(eventually([&] { return is_awaited(s.fd()); }));
      if (discards)
        ends.shutdown(rubato::discard);
      else
        ends.shutdown(rubato::drain);
      EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
      s.put("\n");
      EXPECT_EQ(line(s), "part ");
    });
  }
}

TEST_P(buffered_streams, regression_begin_nothing_in_a_stopped_task) {
  of_each_kind([&](byte_stream& s) {
    s.put("one\ntwo\n");
    EXPECT_EQ(line(s), "one");
    rubato::promise<void> never_kept;
    auto const reads = [&](rubato::future<void> wait) -> rubato::task<text> {
      try {
        co_await std::move(wait);
      } catch (rubato::cancelled const&) {
      }
      std::error_code error;
      text const t = co_await s.in().read_line(100, error);
      EXPECT_EQ(t, std::nullopt);
      EXPECT_EQ(error, std::errc::operation_canceled);
      co_return co_await s.in().read_line(100);
    };
    auto f = pool.spawn(reads, never_kept.get_future());
    f.cancel();
    EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
    EXPECT_EQ(line(s), "two");
  });
}

TEST_P(buffered_streams, regression_take_what_is_there_when_too_late) {
  of_each_kind([&](byte_stream& s) {
    s.put("one\ntwo\n");
    EXPECT_EQ(pool.block_on(s.in().read_line(100, steady_clock::now() - 1s)), "one");
    EXPECT_EQ(pool.block_on(s.in().read_line(100, 0s)), "two");
  });
}

TEST_P(buffered_streams, regression_end_at_a_deadline_in_a_flood) {
  of_each_kind([&](byte_stream& s) {
    std::atomic<bool> over = false;
    std::thread writer([&] {
      std::string const some(10'000, 'x');
      while (!over)
        if (::send(s.writing_fd(), some.data(), some.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
            errno == ENOTSOCK)
          static_cast<void>(::write(s.writing_fd(), some.data(), some.size()));
    });
    EXPECT_EQ(error_of([&] { return pool.block_on(s.in().read_line(std::size_t{1} << 40U, 5ms)); }),
              std::errc::timed_out);
    over = true;
    writer.join();
  });
}

TEST_P(buffered_streams, regression_report_a_reset_and_keep_bytes) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  connected<tcp_socket> c = connect_tcp(pool);
  buffered in(c.server);
  pool.block_on(c.client.write_all("part"));
  EXPECT_EQ(error_of([&] { return pool.block_on(in.read_line(10, 2ms)); }), std::errc::timed_out);
  linger const at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(c.client.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  c.client.close();
  EXPECT_EQ(error_of([&] { return pool.block_on(in.read_line(10)); }), std::errc::connection_reset);
  std::array<char, 4> bytes{};
  EXPECT_EQ(pool.block_on(in.read_exactly(bytes)), 4u);
  EXPECT_EQ(std::string_view(bytes.data(), 4), "part");
}

// Races.

TEST_P(buffered_streams, regression_that_lose_a_race_consume_nothing) {
  of_each_kind([&](byte_stream& s) {
    for (int i = 0; i != 8; ++i) {
      rubato::channel<int> numbers(1);
      EXPECT_TRUE(numbers.try_send(7));
      std::string large(5'000, '?');
      std::string const sent(i / 2 % 2 == 0 ? "line\n" : std::string(5'000, 'x'));
      s.put(sent);
      auto const race = [&]() -> rubato::task<std::size_t> {
        auto read = [&]() { return s.in().read_exactly(large); };
        if (i % 4 == 0) {
          auto any = rubato::when_any(numbers.receive(), s.in().read_line(10));
          auto const r = co_await std::move(any);
          co_return r.index;
        }
        if (i % 4 == 1) {
          auto any = rubato::when_any(s.in().read_line(10), numbers.receive());
          auto const r = co_await std::move(any);
          co_return 1 - r.index;
        }
        auto any = rubato::when_any(numbers.receive(), read());
        auto const r = co_await std::move(any);
        co_return r.index;
      };
      bool const has_read = pool.spawn(race).get() == 1;
      EXPECT_EQ(numbers.try_receive().has_value(), has_read);
      if (!has_read) {
        EXPECT_EQ(exactly(s, sent.size()), sent);
      }
    }
  });
}

// Two at a time.

TEST_P(buffered_streams, regression_tell_a_second_operation) {
  of_each_kind([&](byte_stream& s) {
    auto first = pool.spawn(s.in().read_line(100));
    auto const second = [&]() -> rubato::task<void> {
      co_await until_awaited(s.fd());
      std::array<char, 4> bytes{};
      std::error_code error;
      std::size_t const n = co_await s.in().read_exactly(bytes, error);
      EXPECT_EQ(n, 0u);
      EXPECT_EQ(error, std::errc::device_or_resource_busy);
      co_await s.in().read_line(100);
    };
    auto f = pool.spawn(second);
    try {
      f.get();
      ADD_FAILURE() << "it has read";
    } catch (std::system_error const& e) {
      EXPECT_EQ(e.code(), std::errc::device_or_resource_busy);
      std::string const said = e.what();
      EXPECT_NE(said.find("another task does so already"), said.npos) << said;
    }
    s.put("for the first\n");
    EXPECT_EQ(first.get(), "for the first");
    s.put("afterwards\n");
    EXPECT_EQ(line(s), "afterwards");
  });
}

TEST_P(buffered_streams, regression_of_tasks_in_turn_lose_nothing) {
  of_each_kind([&](byte_stream& s) {
    rubato::async_mutex turn;
    std::size_t next = 0;
    constexpr std::size_t count = 500;
    auto const read = [&]() -> rubato::task<void> {
      for (;;) {
        rubato::async_lock const hold = co_await turn.scoped_lock();
        text const t = co_await s.in().read_line(100);
        if (!t) co_return;
        EXPECT_EQ(*t, std::to_string(next++));
      }
    };
    auto a = pool.spawn(read), b = pool.spawn(read), c = pool.spawn(read);
    std::thread writer([&] {
      for (std::size_t i = 0; i != count; ++i) s.put(std::to_string(i) + "\n");
      s.end();
    });
    a.get();
    b.get();
    c.get();
    writer.join();
    EXPECT_EQ(next, count);
  });
}

TEST_P(buffered_streams, regression_let_one_write_beside_a_reader) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  connected<tcp_socket> c = connect_tcp(pool);
  buffered client(std::move(c.client)), server(std::move(c.server));
  auto const echo = [&]() -> rubato::task<void> {
    for (;;) {
      text const t = co_await server.read_line(100);
      if (!t) break;
      co_await server.stream().write_all(*t + "\n");
    }
    server.stream().shutdown();
  };
  constexpr int count = 2'000;
  auto const write = [&]() -> rubato::task<void> {
    for (int i = 0; i != count; ++i) co_await client.stream().write_all(std::to_string(i) + "\n");
    client.stream().shutdown();
  };
  auto const read = [&]() -> rubato::task<int> {
    for (int i = 0;; ++i) {
      text const t = co_await client.read_line(100);
      if (!t) co_return i;
      EXPECT_EQ(*t, std::to_string(i));
    }
  };
  auto a = pool.spawn(echo), b = pool.spawn(write);
  EXPECT_EQ(pool.spawn(read).get(), count);
  a.get();
  b.get();
}

} // namespace
