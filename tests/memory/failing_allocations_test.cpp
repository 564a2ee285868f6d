// Without memory a call throws; a destructor never does, and never ends the program.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include "io/reactor.hpp"
#include "memory/failing.hpp"
#include "support/process.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace {

using rubato_test::failing_allocations;
using task = rubato::task<>;

/// Ignores exceptions: the test looks at the destructors that run meanwhile.
template<class F>
void attempt(F f) {
  try {
    f();
  } catch (std::exception const&) { // NOLINT(bugprone-empty-catch)
  }
}

TEST(failing_allocations, regression_breaking_needs_no_memory) {
  for (int i = 0; i != 50; ++i) {
    std::optional<rubato::promise<int>> promise(std::in_place);
    rubato::future<int> f = promise->get_future();
    {
      failing_allocations const all(100);
      promise.reset();
    }
    EXPECT_THROW(f.get(), std::exception);
  }
}

TEST(failing_allocations, regression_a_group_ends_without_memory) {
  rubato::pool pool(1);
  for (int i = 0; i != 50; ++i) {
    std::atomic<int> ran{0};
    failing_allocations const many(50);
    attempt([&] {
      rubato::task_group group(pool);
      for (int k = 0; k != 5; ++k) group.spawn([&] { ++ran; });
    });
    EXPECT_LE(ran, 5);
  }
}

TEST(failing_channel, a_value_without_memory_stays_with_the_sender) {
  struct large { // too large for the slab
    std::unique_ptr<int> value;
    std::array<char, 16'384> rest{};
  };
  rubato::channel<large> c(2);
  large value{std::make_unique<int>(1)};
  {
    failing_allocations const all(100);
    EXPECT_THROW(static_cast<void>(c.try_send(std::move(value))), std::bad_alloc);
    EXPECT_THROW(static_cast<void>(c.send_blocking(std::move(value))), std::bad_alloc); // NOLINT
  }
  EXPECT_NE(value.value, nullptr); // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(c.try_send(std::move(value)));
  EXPECT_EQ(*c.try_receive()->value, 1);
}

TEST(failing_channel, a_value_stays_where_the_buffer_has_no_memory) {
  rubato::channel<std::string> c(200); // the buffer grows by 128 of them
  std::string value = "7";
  {
    failing_allocations const all(100);
    EXPECT_THROW(static_cast<void>(c.try_send(std::move(value))), std::bad_alloc);
  }
  EXPECT_EQ(value, "7"); // NOLINT(bugprone-use-after-move)
  for (int i = 0; i != 200; ++i) EXPECT_TRUE(c.try_send("before"));
  rubato::pool pool(rubato::no_workers);
  auto send = [&]() -> rubato::task<bool> { co_return co_await c.send(std::move(value)); };
  auto sender = pool.spawn(send());
  EXPECT_TRUE(pool.wait_idle());
  {
    failing_allocations const all(100); // the sender's value would be the first of a chunk
    EXPECT_TRUE(c.try_receive());
  }
  EXPECT_THROW(static_cast<void>(sender.get()), std::bad_alloc);
  EXPECT_EQ(value, "7");
  EXPECT_TRUE(c.try_send(std::move(value)));
}

TEST(failing_resize, regression_a_closed_pool_stays_closed) {
  rubato::pool pool(1);
  pool.shutdown(rubato::drain);
  for (unsigned const workers : {1U, 3U}) {
    failing_allocations const all(100);
    EXPECT_THROW(pool.resize(workers), std::bad_alloc);
  }
  EXPECT_EQ(pool.resize(2), 0U);
  // The token is a new one: the pool had not been opened with the token that the shutdown has stopped.
  EXPECT_FALSE(pool.run([](std::stop_token const& token) { return token.stop_requested(); }));
}

class failing_calls : public rubato_test::fresh_process {};

/// The global pool, where it would run, has not been used.
TEST_F(failing_calls, regression_then_of_a_gone_pool_breaks_a_future) {
  EXPECT_EXIT(
      {
        rubato::shared_future<int> s;
        {
          rubato::pool pool(1);
          s = pool.spawn([] { return 1; }).share();
          s.then([](int x) { return x; }).get(); // fills this thread's slabs
        }
        rubato::future<int> f;
        bool ends = false;
        attempt([&] {
          failing_allocations const all(100);
          f = s.then([](int x) { return x; });
        });
        try {
          if (f.valid()) static_cast<void>(f.get());
          ends = !f.valid();
        } catch (std::exception const&) {
          ends = true;
        }
        rubato_test::leave(ends, "no pool");
      },
      testing::ExitedWithCode(0), "no pool");
}

TEST_F(failing_calls, regression_submit_throws) {
  EXPECT_EXIT(
      {
        rubato::pool pool(1);
        std::atomic<bool> open{false};
        pool.enqueue([&] { open.wait(false); }); // what follows stays queued, and needs more slabs
        std::vector<std::future<int>> all;
        all.reserve(50'000);
        std::size_t refused = 0;
        for (int i = 0; i != 50'000; ++i) {
          failing_allocations const half(50);
          try {
            all.push_back(pool.submit([] { return 1; }));
          } catch (std::bad_alloc const&) {
            ++refused;
          }
        }
        open = true;
        open.notify_all();
        std::size_t sum = 0;
        for (auto& f : all) sum += static_cast<std::size_t>(f.get());
        rubato_test::leave(sum + refused == 50'000 && sum != 0 && refused != 0, "submitted");
      },
      testing::ExitedWithCode(0), "submitted");
}

class failing_reactor : public rubato_test::fresh_process {};

TEST_F(failing_reactor, regression_failed_starts_leak_no_descriptor) {
  auto const lowest_free = [] {
    int const fd = ::dup(STDIN_FILENO);
    ::close(fd);
    return fd;
  };
  auto const start_in_vain = [&] {
    int const before = lowest_free();
    {
      failing_allocations const all(100);
      for (int i = 0; i != 3; ++i) attempt([] { static_cast<void>(rubato::detail::slot_of(STDIN_FILENO)); });
    }
    rubato_test::leave(lowest_free() == before, "all were closed");
  };
  EXPECT_EXIT(start_in_vain(), testing::ExitedWithCode(0), "all were closed");
}

class failing : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(percent, failing, testing::Values(2U, 10U, 60U), testing::PrintToStringParamName());

TEST_P(failing, regression_allocations_end_no_destructor) {
  for (unsigned round = 0; round != 60; ++round) {
    failing_allocations const some(GetParam());
    attempt([&] {
      rubato::channel<int> nothing_comes(2);
      rubato::promise<int> never;
      rubato::shared_future<int> const result = never.get_future().share();
      rubato::pool pool(
          rubato::pool_options().workers(round % 4).on_unhandled([](std::exception_ptr const&) {}));
      std::vector<rubato::future<int>> kept;
      for (int i = 0; i != 10; ++i) {
        attempt([&] { kept.push_back(pool.spawn([i] { return i; })); });
        attempt([&] { pool.enqueue([&result]() -> task { co_await result; }); });
        attempt([&] { pool.enqueue([&nothing_comes]() -> task { co_await nothing_comes.receive(); }); });
        attempt([&] {
          rubato::task_group group(pool);
          for (int k = 0; k != 5; ++k) group.spawn([] {});
          group.spawn([]() -> task { co_await rubato::yield(); });
        });
        attempt([&] {
          pool.block_on(rubato::with_async_scope([](rubato::scope& s) -> task {
            s.spawn([] {});
            s.spawn([]() -> task { co_await rubato::yield(); });
            co_await rubato::sleep_for(std::chrono::microseconds(10));
          }));
        });
        attempt([&] {
          auto const dropped =
              pool.spawn([] { return std::string(100, 'x'); }).then([](std::string const& s) {
                return s.size();
              });
        });
        attempt([&] {
          pool.run(
              [] { rubato::with_scope([](rubato::scope& s) { s.spawn([] { throw std::bad_alloc(); }); }); });
        });
        attempt([&] {
          rubato::strand strand(pool);
          strand.enqueue([] {});
          auto const dropped = strand.spawn([] { return 1; });
        });
        attempt([&] { static_cast<void>(pool.enqueue_after(std::chrono::hours(1), [] {})); });
      }
      attempt([&] { pool.resize((round + 1) % 4); });
    });
  }
}

} // namespace
