// Asio's timers, sockets and coroutines on a pool, beside tasks of the pool.
#include "support/loopback.hpp"
#include "support/pools.hpp"
#include "support/waiting.hpp"

#include <rubato/asio.hpp>
#include <rubato/rubato.hpp>

#include <asio.hpp>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rubato_test {
namespace {

using asio::use_awaitable;
using asio::ip::tcp;

struct asio_io : on_workers {
  rubato::asio_context context{pool};
};

asio::awaitable<void> sleep_often(rubato::pool& pool, int times, std::atomic<int>& slept) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int i = 0; i != times; ++i) {
    auto const before = std::chrono::steady_clock::now();
    timer.expires_after(1ms);
    co_await timer.async_wait(use_awaitable);
    EXPECT_GE(std::chrono::steady_clock::now() - before, 1ms);
    EXPECT_EQ(rubato::current_pool(), &pool);
    ++slept;
  }
}

TEST_P(asio_io, timers_resume_coroutines_on_the_pool) {
  std::atomic<int> slept{0};
  for (int i = 0; i != 10; ++i) asio::co_spawn(context, sleep_often(pool, 5, slept), asio::detached);
  context.join();
  EXPECT_EQ(slept, 50);
}

TEST_P(asio_io, cancelled_timers_say_so) {
  asio::steady_timer timer(context, 1h);
  asio::error_code said;
  timer.async_wait([&](asio::error_code ec) {
    said = ec;
    EXPECT_EQ(rubato::current_pool(), &pool);
  });
  asio::post(context, [&] { timer.cancel(); });
  context.join();
  EXPECT_EQ(said, asio::error::operation_aborted);
}

asio::awaitable<void> serve(tcp::socket socket) {
  std::array<char, 256> data;
  asio::error_code ec;
  for (;;) {
    std::size_t const n =
        co_await socket.async_read_some(asio::buffer(data), asio::redirect_error(use_awaitable, ec));
    if (ec) co_return; // the client has closed
    co_await asio::async_write(socket, asio::buffer(data, n), use_awaitable);
  }
}

asio::awaitable<void> accept(tcp::acceptor& from, int n) {
  for (int i = 0; i != n; ++i) {
    tcp::socket socket = co_await from.async_accept(use_awaitable);
    asio::co_spawn(from.get_executor(), serve(std::move(socket)), asio::detached);
  }
}

asio::awaitable<void> talk(rubato::pool& pool, tcp::endpoint to, int rounds, std::atomic<int>& answered) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(to, use_awaitable);
  for (int i = 0; i != rounds; ++i) {
    std::string const text = "round " + std::to_string(i);
    co_await asio::async_write(socket, asio::buffer(text), use_awaitable);
    std::string answer(text.size(), ' ');
    co_await asio::async_read(socket, asio::buffer(answer), use_awaitable);
    EXPECT_EQ(answer, text);
    EXPECT_EQ(rubato::current_pool(), &pool);
    ++answered;
  }
}

TEST_P(asio_io, sockets_echo_beside_tasks_of_the_pool) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback interface";
  constexpr int clients = 8, rounds = 20;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  std::atomic<int> answered{0};
  asio::co_spawn(context, accept(acceptor, clients), asio::detached);
  for (int i = 0; i != clients; ++i)
    asio::co_spawn(context, talk(pool, acceptor.local_endpoint(), rounds, answered), asio::detached);
  // Meanwhile the same workers run a loop of the pool.
  std::atomic<int> items{0};
  rubato::future<void> loop = pool.spawn(
      [&] { rubato::for_index(0, 1'000, [&](int) { items.fetch_add(1, std::memory_order_relaxed); }); });
  context.join();
  loop.get();
  EXPECT_EQ(answered, clients * rounds);
  EXPECT_EQ(items, 1'000);
}

TEST_P(asio_io, sockets_may_name_the_executor_type) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback interface";
  using socket_type = asio::basic_stream_socket<tcp, rubato::asio_executor>;
  using acceptor_type = asio::basic_socket_acceptor<tcp, rubato::asio_executor>;
  acceptor_type acceptor(context, {asio::ip::address_v4::loopback(), 0});
  socket_type client(context);
  std::string got;
  acceptor.async_accept([&](asio::error_code ec, socket_type peer) {
    ASSERT_FALSE(ec);
    auto const kept = std::make_shared<socket_type>(std::move(peer));
    asio::async_write(*kept, asio::buffer("typed", 5),
                      [kept](asio::error_code failed, std::size_t) { EXPECT_FALSE(failed); });
  });
  client.async_connect(acceptor.local_endpoint(), [&](asio::error_code ec) {
    ASSERT_FALSE(ec);
    asio::async_read(client, asio::dynamic_buffer(got), asio::transfer_exactly(5),
                     [&](asio::error_code failed, std::size_t n) {
                       EXPECT_FALSE(failed);
                       EXPECT_EQ(n, 5U);
                       EXPECT_EQ(rubato::current_pool(), &pool);
                     });
  });
  context.join();
  EXPECT_EQ(got, "typed");
}

TEST_P(asio_io, handlers_wait_for_work_of_the_pool) {
  std::atomic<int> sum{0};
  for (int i = 0; i != 50; ++i)
    asio::post(context, [&, i] {
      auto const [a, b] = rubato::join([i] { return i; }, [i] { return 2 * i; });
      sum += pool.spawn([](int x, int y) { return x + y; }, a, b).get();
    });
  context.join();
  EXPECT_EQ(sum, 3 * 49 * 50 / 2);
}

TEST_P(asio_io, a_coroutine_on_a_strand_is_never_on_two_threads) {
  auto const strand = asio::make_strand(context);
  int inside = 0, steps = 0; // no atomics: the strand orders them
  auto const body = [&]() -> asio::awaitable<void> {
    for (int i = 0; i != 50; ++i) {
      EXPECT_EQ(inside++, 0);
      ++steps;
      --inside;
      co_await asio::post(use_awaitable);
    }
  };
  for (int i = 0; i != 5; ++i) asio::co_spawn(strand, body, asio::detached);
  context.join();
  EXPECT_EQ(steps, 250);
}

TEST_P(asio_io, exception_of_a_coroutine_reaches_its_completion) {
  std::string said;
  asio::co_spawn(
      context,
      [this]() -> asio::awaitable<void> {
        asio::steady_timer timer(context, 1ms);
        co_await timer.async_wait(use_awaitable);
        throw std::runtime_error("from the coroutine");
      },
      [&](std::exception_ptr e) {
        try {
          if (e) std::rethrow_exception(e);
        } catch (std::runtime_error const& failed) {
          said = failed.what();
        }
      });
  context.join();
  EXPECT_EQ(said, "from the coroutine");
}

TEST_P(asio_io, use_future_ends_on_the_pool) {
  if (pool.size() == 0) GTEST_SKIP() << "a thread that waits for a std::future drives no pool";
  std::future<int> result =
      asio::co_spawn(context, []() -> asio::awaitable<int> { co_return 42; }, asio::use_future);
  EXPECT_EQ(result.get(), 42);
}

RUBATO_TEST_WITH_WORKERS(asio_io, all_counts);

TEST(asio_contexts, two_pools_exchange_a_coroutine) {
  rubato::pool first(1), second(2);
  rubato::asio_context a(first), b(second);
  std::vector<rubato::pool*> seen;
  asio::co_spawn(
      a,
      [&]() -> asio::awaitable<void> {
        for (int i = 0; i != 10; ++i) {
          seen.push_back(rubato::current_pool());
          co_await asio::co_spawn(
              b,
              [&]() -> asio::awaitable<void> {
                seen.push_back(rubato::current_pool());
                co_return;
              },
              use_awaitable);
        }
      },
      asio::detached);
  a.join();
  ASSERT_EQ(seen.size(), 20U);
  for (std::size_t i = 0; i != seen.size(); ++i) EXPECT_EQ(seen[i], i % 2 == 0 ? &first : &second);
}

} // namespace
} // namespace rubato_test
