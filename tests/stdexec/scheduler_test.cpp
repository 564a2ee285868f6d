// stdexec_scheduler under stdexec's algorithms: where they complete, with what, and how errors and stops end
// them.
#include "support/pools.hpp"
#include "support/waiting.hpp"

#include <rubato/rubato.hpp>
#include <rubato/stdexec.hpp>

#include <exec/async_scope.hpp>
#include <exec/split.hpp>
#include <exec/task.hpp>
#include <exec/when_any.hpp>
#include <gtest/gtest.h>
#include <stdexec/execution.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace rubato_test {
namespace {

using rubato::stdexec_scheduler;

static_assert(stdexec::scheduler<stdexec_scheduler>);
static_assert(std::is_trivially_copyable_v<stdexec_scheduler>);
static_assert(stdexec::sender_of<decltype(stdexec::schedule(std::declval<stdexec_scheduler>())),
                                 stdexec::set_value_t()>);

struct senders : on_workers {
  stdexec_scheduler const on_pool{pool};
  [[nodiscard]] bool is_here() const { return rubato::current_pool() == &pool; }
};

TEST_P(senders, schedule_completes_on_the_pool) {
  auto [here] =
      stdexec::sync_wait(stdexec::schedule(on_pool) | stdexec::then([this] { return is_here(); })).value();
  EXPECT_TRUE(here);
}

TEST_P(senders, scheduler_says_what_it_is) {
  rubato::pool other(1);
  EXPECT_EQ(on_pool, stdexec_scheduler(pool));
  EXPECT_NE(on_pool, stdexec_scheduler(other));
  EXPECT_EQ(stdexec::get_forward_progress_guarantee(on_pool), stdexec::forward_progress_guarantee::parallel);
  auto const sender = stdexec::schedule(on_pool);
  EXPECT_EQ(stdexec::get_completion_scheduler<stdexec::set_value_t>(stdexec::get_env(sender)), on_pool);
}

TEST_P(senders, many_operations_complete_once_each) {
  std::size_t const n = scaled(5'000);
  std::atomic<std::size_t> ran{0};
  exec::async_scope scope;
  for (std::size_t i = 0; i != n; ++i)
    scope.spawn(stdexec::schedule(on_pool) | stdexec::then([&] {
                  EXPECT_TRUE(is_here());
                  ran.fetch_add(1, std::memory_order_relaxed);
                }));
  stdexec::sync_wait(scope.on_empty());
  EXPECT_EQ(ran, n);
}

TEST_P(senders, several_threads_start_operations) {
  std::size_t const n = scaled(2'000);
  std::atomic<std::size_t> ran{0};
  exec::async_scope scope;
  {
    std::vector<std::jthread> producers;
    for (int p = 0; p != 3; ++p)
      producers.emplace_back([&] {
        for (std::size_t i = 0; i != n; ++i)
          scope.spawn(stdexec::schedule(on_pool) |
                      stdexec::let_value([&] { return stdexec::schedule(on_pool); }) |
                      stdexec::then([&] { ran.fetch_add(1, std::memory_order_relaxed); }));
      });
  }
  stdexec::sync_wait(scope.on_empty());
  EXPECT_EQ(ran, 3 * n);
}

TEST_P(senders, when_all_joins_what_ran_in_parallel) {
  auto const piece = [this](int n) {
    return stdexec::schedule(on_pool) | stdexec::then([this, n] {
             EXPECT_TRUE(is_here());
             return n * n;
           });
  };
  auto [a, b, c] = stdexec::sync_wait(stdexec::when_all(piece(2), piece(3), piece(4))).value();
  EXPECT_EQ(a + b + c, 29);
}

TEST_P(senders, let_value_goes_on_with_the_sender_of_its_function) {
  auto [sum] = stdexec::sync_wait(
                   stdexec::starts_on(on_pool, stdexec::just(3)) | stdexec::let_value([this](int& n) {
                     return stdexec::when_all(stdexec::just(n), stdexec::schedule(on_pool) |
                                                                    stdexec::then([&n] { return 10 * n; }));
                   }) |
                   stdexec::then([](int x, int y) { return x + y; }))
                   .value();
  EXPECT_EQ(sum, 33);
}

TEST_P(senders, split_runs_its_sender_once) {
  std::atomic<int> ran{0};
  auto const shared = exec::split(stdexec::schedule(on_pool) | stdexec::then([&] { return ++ran; }));
  auto [a, b] =
      stdexec::sync_wait(stdexec::when_all(shared, shared | stdexec::continues_on(on_pool))).value();
  EXPECT_EQ(a, 1);
  EXPECT_EQ(b, 1);
  EXPECT_EQ(ran, 1);
}

TEST_P(senders, work_moves_between_two_pools) {
  rubato::pool second(2);
  stdexec_scheduler const on_second(second);
  auto const where = [] { return rubato::current_pool(); };
  auto [first_seen, second_seen, back] =
      stdexec::sync_wait(stdexec::starts_on(on_pool, stdexec::just() | stdexec::then(where)) |
                         stdexec::continues_on(on_second) |
                         stdexec::then([=](rubato::pool* p) { return std::tuple(p, where()); }) |
                         stdexec::continues_on(on_pool) | stdexec::let_value([=](auto& seen) {
                           return stdexec::just(std::get<0>(seen), std::get<1>(seen), where());
                         }))
          .value();
  EXPECT_EQ(first_seen, &pool);
  EXPECT_EQ(second_seen, &second);
  EXPECT_EQ(back, &pool);
  auto [inside, after] =
      stdexec::sync_wait(
          stdexec::schedule(on_pool) | stdexec::let_value([&] {
            return stdexec::on(on_second, stdexec::just() | stdexec::then(where)) |
                   stdexec::then([=](rubato::pool* p) { return std::tuple(p, where()); });
          }) |
          stdexec::let_value([](auto& seen) { return stdexec::just(std::get<0>(seen), std::get<1>(seen)); }))
          .value();
  EXPECT_EQ(inside, &second);
  EXPECT_EQ(after, &pool);
}

TEST_P(senders, exceptions_are_errors) {
  EXPECT_THROW(stdexec::sync_wait(stdexec::schedule(on_pool) |
                                  stdexec::then([]() -> int { throw std::runtime_error("then"); })),
               std::runtime_error);
  auto [said] =
      stdexec::sync_wait(stdexec::schedule(on_pool) |
                         stdexec::then([]() -> std::string { throw std::runtime_error("caught"); }) |
                         stdexec::upon_error([](std::exception_ptr e) -> std::string {
                           try {
                             std::rethrow_exception(e);
                           } catch (std::runtime_error const& failed) {
                             return failed.what();
                           }
                         }))
          .value();
  EXPECT_EQ(said, "caught");
}

TEST_P(senders, a_failure_stops_what_when_all_has_not_begun) {
  std::atomic<int> begun{0};
  auto const counted = [&] { return stdexec::schedule(on_pool) | stdexec::then([&] { ++begun; }); };
  auto failing = stdexec::just() | stdexec::then([] { throw std::runtime_error("first"); });
  EXPECT_THROW(stdexec::sync_wait(stdexec::when_all(std::move(failing), counted(), counted())),
               std::runtime_error);
  EXPECT_EQ(begun, 0); // the token was set before they were started
}

TEST_P(senders, a_stop_before_the_worker_begins_is_set_stopped) {
  exec::async_scope scope;
  scope.request_stop();
  std::atomic<bool> ran{false};
  scope.spawn(stdexec::schedule(on_pool) | stdexec::then([&] { ran = true; }));
  stdexec::sync_wait(scope.on_empty());
  EXPECT_FALSE(ran);
}

TEST_P(senders, when_any_takes_the_first) {
  auto [which] =
      stdexec::sync_wait(exec::when_any(stdexec::schedule(on_pool) | stdexec::then([] { return 1; }),
                                        stdexec::schedule(on_pool) | stdexec::then([] { return 2; })))
          .value();
  EXPECT_TRUE(which == 1 || which == 2);
}

exec::task<int> sum_on(stdexec_scheduler on, int n) {
  int sum = 0;
  for (int i = 1; i <= n; ++i) {
    co_await stdexec::schedule(on);
    sum += i;
  }
  co_return sum;
}

TEST_P(senders, a_coroutine_awaits_them) {
  auto work = stdexec::starts_on(on_pool, sum_on(on_pool, 100));
  auto [sum] = stdexec::sync_wait(std::move(work)).value();
  EXPECT_EQ(sum, 5'050);
}

TEST_P(senders, a_task_of_the_pool_waits_in_a_blocking_region) {
  int const got =
      pool.spawn([&] {
            return rubato::blocking([&] {
              auto [n] =
                  stdexec::sync_wait(stdexec::schedule(on_pool) | stdexec::then([] { return 7; })).value();
              return n;
            });
          })
          .get();
  EXPECT_EQ(got, 7);
}

RUBATO_TEST_WITH_WORKERS(senders, counts_with_workers);

} // namespace
} // namespace rubato_test
