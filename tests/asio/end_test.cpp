// The end of a context, and of its pool, while handlers are queued, run or wait.
#include "support/loopback.hpp"
#include "support/pools.hpp"
#include "support/waiting.hpp"

#include <rubato/asio.hpp>
#include <rubato/rubato.hpp>

#include <asio.hpp>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace rubato_test {
namespace {

using asio::use_awaitable;
using asio::ip::tcp;

struct asio_end : on_workers {
  std::optional<rubato::asio_context> context{std::in_place, pool};
  /// Destroyed with a handler that holds it.
  std::shared_ptr<int> const held = std::make_shared<int>(0);
  [[nodiscard]] long holders() const { return held.use_count() - 1; }
};

TEST_P(asio_end, destructor_destroys_what_is_pending) {
  auto owned = std::make_shared<asio::steady_timer>(*context, 1h); // an I/O object goes before its context
  auto& of_handler = *owned;
  of_handler.async_wait([h = held, keeps = std::move(owned)](asio::error_code) {
    ADD_FAILURE() << "an abandoned handler ran";
  });
  asio::co_spawn(
      *context,
      [h = held]() -> asio::awaitable<void> {
        asio::steady_timer own(co_await asio::this_coro::executor, 1h);
        co_await own.async_wait(use_awaitable);
        ADD_FAILURE() << "an abandoned coroutine was resumed";
      },
      asio::detached);
  EXPECT_GE(holders(), 2);
  context.reset();
  EXPECT_EQ(holders(), 0);
}

TEST_P(asio_end, destructor_waits_for_running_handlers) {
  if (pool.size() == 0) GTEST_SKIP() << "nothing runs beside the caller";
  gate begun;
  std::atomic<bool> over{false};
  asio::post(*context, [&, c = &*context] {
    begun.open();
    std::this_thread::sleep_for(until_others_sleep);
    asio::post(*c, [h = held] {}); // while the context ends, or before
    over = true;
  });
  ASSERT_TRUE(begun.wait());
  context.reset();
  EXPECT_TRUE(over);
  EXPECT_EQ(holders(), 0);
}

TEST_P(asio_end, destructor_leaves_nothing_of_a_flood) {
  std::atomic<std::size_t> ran{0};
  std::size_t const n = scaled(2'000);
  {
    auto const strand = asio::make_strand(*context); // goes before its context, as I/O objects do
    for (std::size_t i = 0; i != n; ++i) {
      asio::post(*context, [&, h = held] { ++ran; });
      asio::post(strand, [&, h = held] { ++ran; });
    }
  }
  context.reset();
  EXPECT_LE(ran, 2 * n);
  EXPECT_EQ(holders(), 0);
}

TEST_P(asio_end, endless_chains_end_with_the_context) {
  struct endless {
    rubato::asio_executor executor;
    std::shared_ptr<int> h;
    void operator()() { asio::post(executor, *this); }
  };
  for (int i = 0; i != 3; ++i) asio::post(*context, endless{context->get_executor(), held});
  context.reset();
  EXPECT_EQ(holders(), 0);
}

TEST_P(asio_end, join_may_be_called_again) {
  int ran = 0;
  context->join();
  for (int i = 1; i != 4; ++i) {
    asio::post(*context, [&] { ++ran; });
    context->join();
    EXPECT_EQ(ran, i);
  }
}

TEST_P(asio_end, join_waits_for_a_work_guard) {
  auto guard_of_work = asio::make_work_guard(*context);
  std::atomic<bool> released{false};
  std::jthread const other([&] {
    std::this_thread::sleep_for(until_others_sleep);
    released = true;
    guard_of_work.reset();
  });
  context->join();
  EXPECT_TRUE(released);
}

TEST_P(asio_end, join_in_a_task_leaves_the_seat) {
  if (pool.size() == 0) GTEST_SKIP() << "needs a worker";
  std::atomic<int> ran{0};
  pool.spawn([&] {
        for (int i = 0; i != 100; ++i) asio::post(*context, [&] { ++ran; });
        context->join();
        EXPECT_EQ(ran, 100);
      })
      .get();
}

TEST_P(asio_end, join_beside_a_producer_returns_without_work) {
  std::atomic<std::size_t> ran{0};
  std::size_t const n = scaled(5'000);
  std::jthread const producer([&] {
    for (std::size_t i = 0; i != n; ++i) asio::post(*context, [&] { ++ran; });
  });
  while (ran != n) context->join();
}

TEST_P(asio_end, a_drained_pool_has_run_what_was_posted) {
  std::atomic<int> ran{0};
  for (int i = 0; i != 100; ++i)
    asio::post(*context, [&] {
      ++ran;
      asio::post(*context, [&] { ++ran; });
    });
  pool.shutdown();
  EXPECT_EQ(ran, 200);
  asio::post(*context, [h = held] { ADD_FAILURE() << "a closed pool ran a handler"; });
  EXPECT_EQ(holders(), 1); // until join()
  context->join();
  EXPECT_EQ(holders(), 0);
}

TEST_P(asio_end, regression_a_closed_pool_refuses_a_member) {
  pool.shutdown();
  rubato::membership const in = pool.join_as_member();
  asio::post(*context, [h = held] { ADD_FAILURE() << "a closed pool ran a handler"; });
  asio::defer(*context, [h = held] { ADD_FAILURE() << "a closed pool ran a handler"; });
  context->join();
  EXPECT_EQ(holders(), 0);
}

TEST_P(asio_end, a_discarded_pool_leaves_no_handler) {
  if (pool.size() == 0) GTEST_SKIP() << "the caller would run them";
  gate begun, end;
  for (unsigned i = 0; i != pool.size(); ++i)
    asio::post(*context, [&] {
      begun.open();
      EXPECT_TRUE(end.wait());
    });
  std::atomic<int> ran{0};
  for (int i = 0; i != 100; ++i) asio::post(*context, [&, h = held] { ++ran; });
  ASSERT_TRUE(begun.wait());
  pool.request_shutdown(rubato::discard);
  end.open();
  pool.shutdown(rubato::discard);
  context->join();
  EXPECT_EQ(holders(), 0);
}

TEST_P(asio_end, join_ends_though_a_timer_fires_into_a_closed_pool) {
  struct periodic {
    asio::steady_timer timer;
    std::shared_ptr<int> h;
    static void begin(std::shared_ptr<periodic> const& self) {
      self->timer.expires_after(1ms);
      self->timer.async_wait([self](asio::error_code ec) {
        if (!ec) begin(self);
      });
    }
  };
  periodic::begin(std::make_shared<periodic>(asio::steady_timer(*context), held));
  std::jthread const closer([&] { pool.shutdown(); });
  context->join(); // the timer of the last handler fires, and the pool refuses it
  EXPECT_EQ(holders(), 0);
}

TEST_P(asio_end, regression_join_sees_what_is_put_aside_meanwhile) {
  pool.shutdown();
  for (unsigned round = 0; round != scaled(100); ++round) {
    // The handler tracks work, so that join() waits; the pool refuses it while join() begins to wait.
    auto tracked = asio::require(context->get_executor(), asio::execution::outstanding_work.tracked);
    std::jthread const poster(
        [&] { context->get_executor().execute([h = held, keeps = std::move(tracked)] {}); });
    context->join();
    EXPECT_EQ(holders(), 0);
  }
}

TEST_P(asio_end, a_pool_that_starts_again_runs_handlers_again) {
  pool.shutdown();
  pool.resize(2);
  bool ran = false;
  asio::post(*context, [&] { ran = true; });
  context->join();
  EXPECT_TRUE(ran);
}

/// Owns the acceptor, which other threads may not touch beside it.
asio::awaitable<void> echo_once(tcp::acceptor from) {
  for (;;) {
    tcp::socket socket = co_await from.async_accept(use_awaitable);
    std::array<char, 16> data;
    std::size_t const n = co_await socket.async_read_some(asio::buffer(data), use_awaitable);
    co_await asio::async_write(socket, asio::buffer(data, n), use_awaitable);
  }
}

TEST_P(asio_end, regression_sockets_are_open_at_the_end) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback interface";
  for (unsigned round = 0; round != scaled(10); ++round) {
    rubato::asio_context own(pool);
    tcp::acceptor acceptor(own, {asio::ip::address_v4::loopback(), 0});
    tcp::endpoint const to = acceptor.local_endpoint();
    asio::co_spawn(own, echo_once(std::move(acceptor)), asio::detached);
    for (int i = 0; i != 4; ++i)
      asio::co_spawn(
          own,
          [&own, to, h = held]() -> asio::awaitable<void> {
            for (;;) {
              tcp::socket socket(own);
              co_await socket.async_connect(to, use_awaitable);
              co_await asio::async_write(socket, asio::buffer("x", 1), use_awaitable);
              std::array<char, 1> answer;
              co_await asio::async_read(socket, asio::buffer(answer), use_awaitable);
            }
          },
          asio::detached);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(holders(), 0);
}

RUBATO_TEST_WITH_WORKERS(asio_end, all_counts);

} // namespace
} // namespace rubato_test
