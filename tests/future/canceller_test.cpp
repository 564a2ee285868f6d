// Cancelling from another thread: future::canceller() and future::stop_with().
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/second_thread.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

class cancellers : public on_workers {};
RUBATO_TEST_WITH_WORKERS(cancellers, all_counts);

int until_stopped(std::stop_token t) {
  while (!t.stop_requested()) std::this_thread::yield();
  throw rubato::cancelled();
}

TEST_P(cancellers, regression_a_thread_cancels_what_another_awaits) {
  rubato_test::second_thread other;
  for (std::size_t i = 0; i != scaled(500); ++i) {
    auto f = pool.spawn(&until_stopped);
    other.begin([c = f.canceller(), i] {
      rubato_test::delay(static_cast<unsigned>(i * 7 % 300));
      c.cancel();
    });
    EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
    other.wait();
  }
}

TEST_P(cancellers, outlive_the_future_the_result_and_the_pool) {
  leak_check const none_left;
  std::vector<rubato::canceller> all(1); // one without a future
  {
    rubato::pool own{with_workers(GetParam())};
    auto taken = own.spawn([] { return counted(1); });
    all.push_back(taken.canceller());
    EXPECT_EQ(taken.get().value, 1);
    EXPECT_THROW(static_cast<void>(taken.canceller()), std::future_error);
    auto dropped = own.spawn([] { return counted(2); });
    all.push_back(dropped.canceller());
    dropped = {};
    auto chain = own.spawn([] { return counted(3); }).then([](counted&& c) { return std::move(c); });
    all.push_back(chain.canceller());
    auto both = rubato::when_all(std::move(chain), own.spawn([] { return 1; }));
    all.push_back(both.canceller());
    both.detach();
    own.wait_idle();
  }
  for (auto const& c : all) c.cancel();
  auto const copies = all;
  for (auto const& c : copies) c.cancel();
}

TEST_P(cancellers, reach_work_that_was_moved_on) {
  rubato::promise<int> p;
  auto f = p.get_future();
  auto const c = f.canceller();
  auto g = std::move(f).then([](int n) { return n; });
  auto s = g.share();
  EXPECT_FALSE(p.token().stop_requested());
  c.cancel();
  EXPECT_TRUE(p.token().stop_requested());
  p.set_value(1);
  EXPECT_EQ(s.get(), 1);

  auto shared_work = pool.spawn([] { return 1; });
  auto const d = shared_work.canceller();
  auto const shared = shared_work.share();
  d.cancel();
  d.cancel();
  auto const end = outcome_of([&] { static_cast<void>(shared.get()); });
  EXPECT_TRUE(end == outcome::cancelled || end == outcome::value);
}

TEST_P(cancellers, from_many_threads_while_work_ends) {
  for (std::size_t i = 0; i != scaled(200); ++i) {
    auto f = rubato::when_all(pool.spawn([] { return 1; }),
                              pool.spawn([] { return 2; }).then([](int n) { return n; }));
    auto const c = f.canceller();
    std::vector<std::jthread> threads;
    for (int k = 0; k != 3; ++k)
      threads.emplace_back([c, i] {
        rubato_test::delay(static_cast<unsigned>(i * 11 % 200));
        c.cancel();
      });
    auto const end = outcome_of_get(f);
    EXPECT_TRUE(end == outcome::cancelled || end == outcome::value);
  }
}

TEST_P(cancellers, regression_stop_with_cancels_by_the_token) {
  rubato_test::second_thread other;
  for (std::size_t i = 0; i != scaled(500); ++i) {
    std::stop_source source;
    auto f = pool.spawn(&until_stopped);
    auto g = f.stop_with(source.get_token());
    EXPECT_FALSE(f.valid());
    other.begin([&source, i] {
      rubato_test::delay(static_cast<unsigned>(i * 7 % 300));
      source.request_stop();
    });
    EXPECT_EQ(outcome_of_get(g), outcome::cancelled);
    other.wait();
  }
}

TEST_P(cancellers, stop_with_of_a_stopped_token_begins_nothing) {
  rubato::pool idle(rubato::no_workers);
  std::stop_source source;
  source.request_stop();
  std::atomic<int> runs{0};
  auto f = idle.spawn([&] { return ++runs; }).stop_with(source.get_token());
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  EXPECT_EQ(runs, 0);
}

TEST_P(cancellers, stop_with_leaves_results_as_they_are) {
  std::stop_source source;
  EXPECT_EQ(pool.spawn([] { return 3; }).stop_with(source.get_token()).get(), 3);
  EXPECT_EQ(pool.spawn([] { return 3; }).stop_with({}).get(), 3); // a token that never shows a stop
  EXPECT_EQ(
      failure_of([&] { pool.spawn([]() -> int { throw failure(4); }).stop_with(source.get_token()).get(); }),
      4);
  EXPECT_EQ(rubato::make_ready_future(5).stop_with(source.get_token()).get(), 5);
  source.request_stop();
  EXPECT_EQ(outcome_of([&] { static_cast<void>(rubato::future<int>().stop_with(source.get_token())); }),
            outcome::no_state);
}

/// The callback of the token completes the result that it cancels, and so ends itself.
TEST_P(cancellers, stop_with_of_a_promise_that_its_own_stop_sets) {
  for (bool const at_once : {false, true}) {
    std::stop_source source;
    if (at_once) source.request_stop();
    rubato::promise<int> p;
    std::stop_callback const sets(p.token(), [&p] { p.set_value(6); });
    auto f = p.get_future().stop_with(source.get_token());
    source.request_stop();
    EXPECT_EQ(f.get(), 6);
  }
}

TEST_P(cancellers, stop_with_while_the_work_ends) {
  rubato_test::second_thread other;
  for (std::size_t i = 0; i != scaled(2'000); ++i) {
    std::stop_source source;
    auto f = pool.spawn([] { return 1; }).stop_with(source.get_token());
    other.begin([&source, i] {
      rubato_test::delay(static_cast<unsigned>(i * 7 % 300));
      source.request_stop();
    });
    auto const end = outcome_of_get(f);
    EXPECT_TRUE(end == outcome::cancelled || end == outcome::value);
    other.wait();
  }
}

/// The token's stop runs a callback of the program, which waits for a lock that the setter holds.
TEST_P(cancellers, regression_setting_a_result_waits_for_no_callback) {
  std::mutex m;
  std::stop_source source;
  std::atomic<bool> called = false;
  rubato::promise<int> p;
  std::stop_callback const locks(p.token(), [&] {
    called = true;
    std::lock_guard const waits(m);
  });
  auto f = p.get_future().stop_with(source.get_token());
  std::unique_lock lock(m);
  std::thread stopper([&source] { source.request_stop(); });
  while (!called) std::this_thread::yield();
  p.set_value(1);
  lock.unlock();
  stopper.join();
  EXPECT_EQ(f.get(), 1);
}

} // namespace
