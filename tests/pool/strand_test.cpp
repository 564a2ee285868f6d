// A strand: one at a time, in order, whatever each of them is.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/process.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

class strands : public on_workers {};
RUBATO_TEST_WITH_WORKERS(strands, all_counts);

TEST_P(strands, results_of_every_kind) {
  rubato::strand s(pool);
  auto sum = s.spawn([](int a, std::unique_ptr<int> b) { return a + *b; }, 1, std::make_unique<int>(2));
  auto flat = s.spawn([]() -> rubato::task<int> {
    co_await rubato::yield();
    co_return 4;
  });
  auto future = s.spawn([this] { return pool.spawn([] { return 5; }); });
  auto task = s.spawn([]() -> rubato::task<int> { co_return 6; }());
  auto token = s.spawn([](std::stop_token t, int n) { return t.stop_possible() ? n : 0; }, 7);
  auto nothing = s.spawn([] {});
  auto fails = s.spawn([]() -> int { throw failure(8); });
  int object = 0;
  auto reference = s.spawn([&object]() -> int& { return object; });
  EXPECT_EQ(&reference.get(), &object); // though no thread has fetched the value before it
  EXPECT_EQ(failure_of([&] { static_cast<void>(fails.get()); }), 8);
  nothing.get();
  EXPECT_EQ(token.get(), 7);
  EXPECT_EQ(task.get(), 6);
  EXPECT_EQ(future.get(), 5);
  EXPECT_EQ(flat.get(), 4);
  EXPECT_EQ(sum.get(), 3);
}

TEST_P(strands, one_at_a_time_and_in_order) {
  int const n = static_cast<int>(rubato_test::scaled(3'000));
  rubato::strand s(pool);
  std::vector<int> order; // no lock: the strand is one
  std::atomic<int> inside{0};
  std::atomic<bool> alone{true};
  auto const begin = [&](int i) {
    if (inside.fetch_add(1) != 0) alone = false;
    order.push_back(i);
  };
  for (int i = 0; i != n; ++i) {
    if (i % 3 == 0)
      s.enqueue([&, i] {
        begin(i);
        --inside;
      });
    else if (i % 3 == 1)
      s.enqueue([&, i]() -> rubato::task<void> {
        begin(i);
        co_await rubato::yield(); // the next one waits for this all the same
        --inside;
      });
    else
      s.spawn([&, i] {
         begin(i);
         return pool.spawn([&inside] { --inside; });
       }).detach();
  }
  pool.wait_idle();
  EXPECT_TRUE(alone);
  ASSERT_EQ(order.size(), static_cast<std::size_t>(n));
  for (int i = 0; i != n; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_P(strands, from_many_threads_keep_the_order_of_each) {
  int const n = static_cast<int>(rubato_test::scaled(1'000));
  rubato::strand s(pool);
  std::vector<int> last(4, -1);
  bool in_order = true;
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t != last.size(); ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i != n; ++i)
          s.enqueue([&, t, i] {
            if (last[t] != i - 1) in_order = false;
            last[t] = i;
          });
      });
  }
  pool.wait_idle();
  EXPECT_TRUE(in_order);
  EXPECT_EQ(last, std::vector<int>(4, n - 1));
}

TEST_P(strands, each_is_independent_of_the_others) {
  rubato::strand first(pool), second(pool);
  rubato::promise<int> later;
  auto held = first.spawn(
      [f = later.get_future()]() mutable -> rubato::task<int> { co_return co_await std::move(f); });
  auto behind = first.spawn([] { return 2; });
  EXPECT_EQ(second.spawn([] { return 3; }).get(), 3);
  pool.wait_idle();
  EXPECT_FALSE(behind.ready());
  later.set_value(1);
  EXPECT_EQ(behind.get(), 2);
  EXPECT_EQ(held.get(), 1);
}

TEST_P(strands, what_is_dropped_or_cancelled_holds_no_task_up) {
  leak_check const none_left;
  rubato::strand s(pool);
  rubato::promise<void> later;
  s.spawn([f = later.get_future()]() mutable { return std::move(f); }).detach();
  std::atomic<int> begun{0};
  {
    auto const dropped = s.spawn([&begun, captured = counted(1)] { begun += 1; });
  }
  auto cancelled = s.spawn([&begun] { begun += 10; });
  cancelled.cancel();
  auto last = s.spawn([&begun] { begun += 100; });
  later.set_value();
  last.get();
  EXPECT_EQ(outcome_of_get(cancelled), outcome::cancelled);
  EXPECT_EQ(begun, 100);
  pool.wait_idle();
}

TEST_P(strands, go_on_when_the_object_is_gone) {
  std::atomic<int> sum{0};
  rubato::promise<void> later;
  {
    rubato::strand s(pool);
    s.spawn([f = later.get_future()]() mutable { return std::move(f); }).detach();
    s.enqueue([&sum] { sum += 1; });
    s.enqueue([&sum]() -> rubato::task<void> {
      sum += 10;
      co_return;
    });
  }
  later.set_value();
  pool.wait_idle();
  EXPECT_EQ(sum, 11);
}

TEST_P(strands, in_tasks_of_their_own_pool) {
  rubato::strand s(pool);
  int sum = 0; // guarded by the strand
  auto const work = [&]() -> rubato::task<int> {
    for (int i = 0; i != 100; ++i) co_await s.spawn([&sum] { ++sum; });
    co_return co_await s.spawn([&sum] { return sum; });
  };
  auto a = pool.spawn(work), b = pool.spawn(work);
  auto const c = pool.spawn([&] { return s.spawn([&sum] { return ++sum; }).get(); });
  pool.block_on(std::move(a));
  pool.block_on(std::move(b));
  pool.wait_idle();
  EXPECT_EQ(sum, 201);
}

TEST_P(strands, the_end_of_the_pool_leaves_no_thread_waiting) {
  leak_check const none_left;
  for (bool const discards : {false, true}) {
    auto mortal = std::make_unique<rubato::pool>(rubato_test::with_workers(GetParam()));
    rubato::strand s(*mortal);
    rubato::promise<void> later;
    auto first = s.spawn([f = later.get_future()]() mutable { return std::move(f); });
    auto second = s.spawn([captured = counted(1)] { return captured.value; });
    s.enqueue([captured = counted(1)] {});
    auto third = s.spawn([captured = counted(1)]() -> rubato::task<int> { co_return captured.value; });
    if (discards) mortal->shutdown(rubato::discard);
    mortal.reset();
    EXPECT_EQ(outcome_of_get(second), outcome::broken);
    EXPECT_EQ(outcome_of_get(third), outcome::broken);
    later.set_value();
  }
}

/// A task behind a dropped one ran, although the task before both had not ended.
TEST_P(strands, regression_keep_their_order_when_the_pool_ends) {
  for (std::size_t round = 0; round != rubato_test::scaled(20); ++round) {
    std::atomic<int> overtook{0};
    rubato::promise<void> later;
    auto mortal = std::make_unique<rubato::pool>(rubato_test::with_workers(GetParam()));
    rubato::strand s(*mortal);
    auto first = s.spawn([f = later.get_future()]() mutable { return std::move(f); });
    std::vector<rubato::future<void>> kept;
    for (int i = 0; i != 40; ++i) {
      s.enqueue([&overtook] { ++overtook; });
      kept.push_back(s.spawn([&overtook]() -> rubato::task<void> {
        ++overtook;
        co_return;
      }));
    }
    mortal.reset();
    EXPECT_EQ(overtook, 0);
    for (auto& f : kept) EXPECT_EQ(outcome_of_get(f), outcome::broken);
    later.set_value();
    // Without workers no thread has begun it.
    EXPECT_EQ(outcome_of_get(first), GetParam() == 0 ? outcome::broken : outcome::value);
  }
}

TEST_P(strands, a_long_one_uses_no_stack) {
  int const n = static_cast<int>(rubato_test::scaled(100'000));
  rubato::strand s(pool);
  rubato::promise<void> later;
  s.spawn([f = later.get_future()]() mutable { return std::move(f); }).detach();
  std::atomic<int> runs{0};
  for (int i = 0; i != n; ++i) s.enqueue([&runs] { ++runs; });
  later.set_value();
  pool.wait_idle();
  EXPECT_EQ(runs, n);
}

TEST(strand, failures_go_to_on_unhandled) {
  hang_guard const guard;
  std::atomic<int> reports{0};
  rubato::pool pool(rubato::pool_options().workers(2).on_unhandled([&reports](std::exception_ptr const& e) {
    reports += failure_of([&e] { std::rethrow_exception(e); });
  }));
  rubato::strand s(pool);
  s.enqueue([] { throw failure(1); });
  s.enqueue([]() -> rubato::task<void> {
    co_await rubato::yield();
    throw failure(20);
  });
  s.enqueue([] { return rubato::make_exceptional_future<void>(failure(300)); });
  int ends = 0;
  s.spawn([&ends] { ++ends; }).get();
  pool.wait_idle();
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(reports, 321);
}

class strand_misuse : public rubato_test::fresh_process, public testing::WithParamInterface<unsigned> {
protected:
  void SetUp() override {
    fresh_process::SetUp();
    if (RUBATO_ASSERTIONS == 0) GTEST_SKIP() << "assertions are off in this build";
  }
  /// Runs misuse(strand) in a task of the strand.
  template<class F>
  static void run_in_strand(F misuse) {
    rubato_test::kill_this_process_if_it_hangs();
    rubato::pool pool(GetParam() != 0 ? rubato::pool(GetParam()) : rubato::pool(rubato::no_workers));
    rubato::strand s(pool);
    s.spawn([&] { return misuse(s); }).get();
  }
  static constexpr char const* message = "rubato: a task waits for a later task of its own strand";
};
RUBATO_TEST_WITH_WORKERS(strand_misuse, all_counts);

TEST_P(strand_misuse, regression_get_of_a_later_task) {
  EXPECT_DEATH(run_in_strand([](rubato::strand& s) { s.spawn([] { return 1; }).get(); }), message);
}

TEST_P(strand_misuse, regression_wait_for_a_task_behind_others) {
  EXPECT_DEATH(run_in_strand([](rubato::strand& s) {
                 s.enqueue([] {});
                 s.spawn([] {}).detach();
                 s.spawn([] { return 1; }).then([](int) {}).wait();
               }),
               message);
}

TEST_P(strand_misuse, regression_a_child_of_a_scope_waits) {
  EXPECT_DEATH(run_in_strand([](rubato::strand& s) {
                 rubato::with_scope(
                     [&](rubato::scope& children) { children.spawn([&] { s.spawn([] {}).get(); }); });
               }),
               message);
}

TEST_P(strand_misuse, regression_a_coroutine_awaits_a_later_task) {
  auto const misuse = [](rubato::strand& s) -> rubato::task<void> { co_await s.spawn([] {}); };
  EXPECT_DEATH(run_in_strand(misuse), message);
}

TEST_P(strand_misuse, is_no_wait_for_another_strand_or_a_race) {
  rubato::pool pool(GetParam() != 0 ? rubato::pool(GetParam()) : rubato::pool(rubato::no_workers));
  rubato::strand a(pool), b(pool);
  auto const both = a.spawn([&] {
    auto later = a.spawn([] { return 1; });
    int const other = b.spawn([] { return 2; }).get();
    int const winner = rubato::when_any(std::move(later), b.spawn([] { return 3; })).get().index == 1 ? 4 : 0;
    return other + winner;
  });
  both.wait();
  EXPECT_TRUE(both.ready());
}

TEST(strand, regression_works_again_after_a_drain_drops_a_task) {
  rubato::pool mine(1U);
  rubato::strand in_turn(mine);
  rubato::event never;
  auto const waits = [&never]() -> rubato::task<int> {
    co_await never.wait();
    co_return 1;
  };
  auto stuck = in_turn.spawn(waits);
  auto behind = in_turn.spawn([] { return 2; });
  mine.shutdown();
  EXPECT_EQ(outcome_of_get(stuck), outcome::broken);
  EXPECT_EQ(outcome_of_get(behind), outcome::broken);
  mine.resize(1);
  EXPECT_EQ(in_turn.spawn([] { return 3; }).get(), 3);
  EXPECT_EQ(in_turn.spawn([] { return 4; }).get(), 4);
}

} // namespace
