// close_gracefully(): the peer gets every byte that was sent, the socket is closed whatever happens, and the
// operations of other tasks end.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "io/byte_streams.hpp"
#include "support/loopback.hpp"
#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::tcp_socket;
using rubato::unix_socket;
using std::chrono::steady_clock;

class graceful_closes : public on_workers {
protected:
  /// Calls f with a connection of each kind.
  template<class F>
  void of_each_kind(F f) {
    {
      SCOPED_TRACE("a Unix socket");
      f(connect_local(pool));
    }
    if (!has_loopback()) return;
    SCOPED_TRACE("TCP");
    f(connect_tcp(pool));
  }
};
RUBATO_TEST_WITH_WORKERS(graceful_closes, all_counts);

/// With close() the peer would lose the answer: see the test after this one.
TEST_P(graceful_closes, regression_deliver_all_beside_unread_input) {
  of_each_kind([&](auto c) {
    std::string const answer(50'000, 'a');
    pool.block_on(c.client.write_all("a question that is not read"));
    pool.block_on(c.server.write_all(answer, 20s));
    auto closes = pool.spawn(c.server.close_gracefully(20s));
    auto const ask = [&]() -> rubato::task<std::string> {
      std::error_code error;
      co_await c.client.write_all("another question", error);
      std::string all = co_await read_all(c.client);
      c.client.close();
      co_return all;
    };
    EXPECT_EQ(pool.spawn(ask).get(), answer);
    EXPECT_TRUE(closes.get());
    EXPECT_FALSE(c.server.is_open());
  });
}

TEST_P(graceful_closes, differ_from_close_which_loses_bytes) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  auto c = connect_tcp(pool);
  pool.block_on(c.client.write_all("a question that is not read"));
  pool.block_on(rubato::readable(c.server.native_handle()));
  pool.block_on(c.server.write_all("the answer"));
  c.server.close();
  EXPECT_EQ(error_of([&] { return pool.block_on(read_all(c.client)); }), std::errc::connection_reset);
}

TEST_P(graceful_closes, regression_end_sending_first) {
  of_each_kind([&](auto c) {
    auto closes = pool.spawn(c.server.close_gracefully(20s));
    EXPECT_EQ(pool.block_on(read_all(c.client)), ""); // its end
    pool.block_on(c.client.write_all(std::string(100'000, 'x'), 20s));
    c.client.close();
    EXPECT_TRUE(closes.get());
  });
}

TEST_P(graceful_closes, regression_are_true_if_the_peer_went_first) {
  of_each_kind([&](auto c) {
    c.client.close();
    EXPECT_TRUE(pool.block_on(c.server.close_gracefully(20s)));
    EXPECT_FALSE(c.server.is_open());
  });
  of_each_kind([&](auto c) { // and both ends have said so before
    c.client.shutdown();
    c.server.shutdown();
    std::error_code error;
    EXPECT_TRUE(pool.block_on(c.server.close_gracefully(20s, error)));
    EXPECT_FALSE(error);
    EXPECT_TRUE(pool.block_on(c.client.close_gracefully(steady_clock::now() + 20s)));
  });
}

TEST_P(graceful_closes, regression_of_both_ends_at_once_meet) {
  of_each_kind([&](auto c) {
    pool.block_on(c.client.write_all("unread"));
    pool.block_on(c.server.write_all("unread"));
    auto a = pool.spawn(c.client.close_gracefully(20s)), b = pool.spawn(c.server.close_gracefully(20s));
    EXPECT_TRUE(a.get());
    EXPECT_TRUE(b.get());
  });
}

TEST_P(graceful_closes, regression_close_at_the_deadline) {
  of_each_kind([&](auto c) {
    std::error_code error = std::make_error_code(std::errc::io_error);
    EXPECT_FALSE(pool.block_on(c.server.close_gracefully(2ms, error)));
    EXPECT_FALSE(error);
    EXPECT_FALSE(c.server.is_open());
    EXPECT_EQ(pool.block_on(read_all(c.client)), "");
    std::array<char, 4> bytes{};
    EXPECT_EQ(pool.block_on(c.client.read_some(bytes)), 0u);
  });
  of_each_kind([&](auto c) {
    EXPECT_FALSE(pool.block_on(c.server.close_gracefully(0s)));
    EXPECT_FALSE(c.server.is_open());
  });
}

TEST_P(graceful_closes, regression_close_at_the_deadline_in_a_flood) {
  of_each_kind([&](auto c) {
    int const fd = ::dup(c.client.native_handle());
    std::atomic<bool> over = false;
    std::thread flood([&] {
      std::string const some(10'000, 'x');
      while (!over) static_cast<void>(::send(fd, some.data(), some.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    });
    EXPECT_FALSE(pool.block_on(c.server.close_gracefully(5ms)));
    EXPECT_FALSE(c.server.is_open());
    over = true;
    flood.join();
    ::close(fd);
  });
}

TEST_P(graceful_closes, regression_report_a_reset_and_close) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback interface is up";
  for (bool const before : {true, false}) {
    auto c = connect_tcp(pool);
    auto const reset = [&] {
      linger const at_once{.l_onoff = 1, .l_linger = 0};
      ::setsockopt(c.client.native_handle(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      c.client.close();
    };
    auto const reset_later = [&](int fd) -> rubato::task<void> {
      co_await until_awaited(fd);
      reset();
    };
    int const fd = c.server.native_handle();
    if (before) reset();
    std::error_code error;
    auto closes = pool.spawn(c.server.close_gracefully(20s, error));
    if (!before) pool.spawn(reset_later, fd).get();
    EXPECT_FALSE(closes.get());
    EXPECT_EQ(error, std::errc::connection_reset);
    EXPECT_FALSE(c.server.is_open());
  }
}

TEST_P(graceful_closes, regression_close_when_the_task_is_stopped) {
  of_each_kind([&](auto c) {
    int const fd = c.server.native_handle();
    auto closes = pool.spawn(c.server.close_gracefully(1h));
    auto const stop = [&]() -> rubato::task<void> {
      co_await until_awaited(fd);
      closes.cancel();
    };
    pool.spawn(stop).get();
    EXPECT_EQ(outcome_of_get(closes), outcome::cancelled);
    EXPECT_FALSE(c.server.is_open());
    EXPECT_EQ(pool.block_on(read_all(c.client)), "");
  });
}

TEST_P(graceful_closes, regression_close_when_the_pool_ends) {
  of_each_kind([&](auto c) {
    rubato::pool ends(1);
    int const fd = c.server.native_handle();
    std::error_code error;
    auto closes = ends.spawn(c.server.close_gracefully(1h, error));
    ASSERT_TRUE(eventually([&] { return is_awaited(fd); }));
    ends.shutdown();
    EXPECT_FALSE(closes.get());
    EXPECT_EQ(error, std::errc::operation_canceled);
    EXPECT_FALSE(c.server.is_open());
  });
}

TEST_P(graceful_closes, regression_of_a_closed_socket_report_it) {
  tcp_socket none;
  EXPECT_EQ(error_of([&] { return pool.block_on(none.close_gracefully(1h)); }),
            std::errc::bad_file_descriptor);
  of_each_kind([&](auto c) {
    auto late = c.server.close_gracefully(1h);
    c.server.close();
    std::error_code error;
    EXPECT_FALSE(pool.block_on(c.server.close_gracefully(1h, error)));
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    EXPECT_EQ(error_of([&] { return pool.block_on(std::move(late)); }), std::errc::bad_file_descriptor);
    EXPECT_EQ(pool.block_on(read_all(c.client)), "");
  });
}

TEST_P(graceful_closes, regression_end_the_operations_of_other_tasks) {
  of_each_kind([&](auto c) {
    int const fd = c.server.native_handle();
    std::string const much(std::size_t{16} << 20U, 'm'); // more than the kernel keeps
    std::array<char, 4> bytes{};
    auto reads = pool.spawn(c.server.read_some(bytes));
    auto writes = pool.spawn(c.server.write_all(much));
    auto later = c.server.read_some(bytes);
    auto const close = [&]() -> rubato::task<bool> {
      co_await until_awaited(fd);
      co_await until_awaited(fd, direction::writing);
      co_return co_await c.server.close_gracefully(20s);
    };
    auto closes = pool.spawn(close);
    EXPECT_EQ(error_of([&] { return reads.get(); }), std::errc::operation_canceled);
    EXPECT_EQ(error_of([&] {
                writes.get();
                return 0;
              }),
              std::errc::operation_canceled);
    EXPECT_EQ(error_of([&] { return pool.block_on(std::move(later)); }), std::errc::bad_file_descriptor);
    EXPECT_FALSE(c.server.is_open());
    EXPECT_GT(pool.block_on(read_all(c.client)).size(), 0u); // what had been taken has come
    c.client.close();
    EXPECT_TRUE(closes.get());
  });
}

TEST_P(graceful_closes, regression_outlive_their_socket) {
  of_each_kind([&](auto c) {
    int const fd = c.server.native_handle();
    pool.block_on(c.server.write_all("bye"));
    auto s = std::make_unique<decltype(c.server)>(std::move(c.server));
    auto closes = pool.spawn(s->close_gracefully(20s));
    auto const destroy = [&]() -> rubato::task<void> {
      co_await until_awaited(fd);
      s->close(); // no effect any more
      s.reset();
    };
    pool.spawn(destroy).get();
    EXPECT_EQ(pool.block_on(read_all(c.client)), "bye");
    c.client.close();
    EXPECT_TRUE(closes.get());
  });
}

TEST_P(graceful_closes, regression_never_begun_leave_the_socket_open) {
  of_each_kind([&](auto c) {
    {
      auto const dropped = c.server.close_gracefully(1h);
    }
    EXPECT_TRUE(c.server.is_open());
    pool.block_on(c.server.write_all("x"));
    std::array<char, 4> bytes{};
    EXPECT_EQ(pool.block_on(c.client.read_some(bytes)), 1u);
  });
}

TEST_P(graceful_closes, regression_beside_other_threads_operations) {
  std::size_t const rounds = scaled(200);
  for (std::size_t i = 0; i != rounds; ++i) {
    auto c = connect_local(pool);
    std::array<char, 4> bytes{};
    auto const reads = [&]() -> rubato::task<void> {
      std::error_code e;
      while (!e) {
        std::size_t const n = co_await c.server.read_some(bytes, e);
        if (n == 0) co_return;
      }
    };
    auto const writes = [&]() -> rubato::task<void> {
      std::error_code e;
      for (int k = 0; k != 50 && !e; ++k) co_await c.client.write_all("word", e);
      c.client.close();
    };
    std::error_code a_error, b_error;
    auto a = pool.spawn(c.server.close_gracefully(20s, a_error));
    auto b = pool.spawn(c.server.close_gracefully(20s, b_error));
    auto r = pool.spawn(reads), w = pool.spawn(writes);
    std::thread closer([&] {
      if (i % 2 == 0) c.server.close();
    });
    // A descriptor that gets the number is not touched by the operations of the closed socket.
    std::array<int, 2> fresh{};
    ASSERT_EQ(::pipe2(fresh.data(), O_CLOEXEC | O_NONBLOCK), 0);
    ASSERT_EQ(::write(fresh[1], "k", 1), 1);
    closer.join();
    int const graceful = (a.get() ? 1 : 0) + (b.get() ? 1 : 0);
    r.get();
    w.get();
    EXPECT_LE(graceful, 1);
    if (i % 2 != 0) {
      EXPECT_EQ(graceful, 1) << a_error.message() << b_error.message();
    }
    EXPECT_FALSE(c.server.is_open());
    std::array<char, 4> other{};
    EXPECT_EQ(::read(fresh[0], other.data(), 4), 1);
    ::close(fresh[0]);
    ::close(fresh[1]);
  }
}

} // namespace
