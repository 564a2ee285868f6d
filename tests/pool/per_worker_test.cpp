// per_worker: one object per thread, made on demand.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "support/pools.hpp"
#include "support/values.hpp"

namespace {

using namespace rubato_test;

class each_worker : public on_workers {};
RUBATO_TEST_WITH_WORKERS(each_worker, all_counts);

TEST_P(each_worker, adds_up_without_a_lock) {
  rubato::per_worker<long> sums(pool);
  EXPECT_EQ(sums.combine(std::plus<>{}), 0);
  rubato::for_index(pool, 1, 10'001, [&](int i) { sums.local() += i; });
  EXPECT_EQ(sums.combine(std::plus<>{}), 50'005'000);
  EXPECT_EQ(sums.combine(std::plus<>{}), 50'005'000); // they are still there
  sums.for_each([](long& n) { n = 1; });
  long threads = 0;
  sums.for_each([&threads](long n) { threads += n; });
  EXPECT_EQ(sums.combine(std::plus<>{}), threads);
}

/// As a handle may have it: its & gives something else than its address.
struct without_address {
  int value = 0;
  int* operator&() { return nullptr; }             // NOLINT(google-runtime-operator)
  int const* operator&() const { return nullptr; } // NOLINT(google-runtime-operator)
};

TEST_P(each_worker, regression_may_overload_the_address_operator) {
  rubato::per_worker<without_address> all(pool);
  rubato::for_index(pool, 0, 1'000, [&](int) { ++all.local().value; });
  int sum = 0;
  all.for_each([&sum](without_address const& one) { sum += one.value; });
  EXPECT_EQ(sum, 1'000);
}

TEST_P(each_worker, has_its_own) {
  struct owned {
    std::atomic<std::thread::id> owner{};
  };
  rubato::per_worker<owned> all(pool); // neither copied nor moved
  std::atomic<bool> shared{false};
  auto const look = [&] {
    std::thread::id none;
    if (!all.local().owner.compare_exchange_strong(none, std::this_thread::get_id()) &&
        none != std::this_thread::get_id())
      shared = true;
  };
  for (int i = 0; i != 100; ++i) pool.enqueue(look);
  pool.broadcast(look);
  if (pool.size() != 0) pool.wait_idle();
  pool.run(look); // this thread has a number of its own now, perhaps one that no thread had before
  unsigned n = 0;
  all.for_each([&n](owned const&) { ++n; });
  EXPECT_GE(n, 1U);
  EXPECT_FALSE(shared);
}

TEST_P(each_worker, is_made_once_by_what_was_given) {
  leak_check const none_left;
  std::atomic<int> made{0};
  {
    rubato::per_worker<counted> all(pool, [&made, owned = std::make_unique<int>(7)] {
      ++made;
      return counted(*owned);
    });
    EXPECT_EQ(made, 0);
    pool.run([&] {
      counted const* const mine = &all.local();
      EXPECT_EQ(mine, &all.local());
      EXPECT_EQ(mine->value, 7);
    });
    EXPECT_EQ(made, 1);
  }
  rubato::per_worker<counted> fails(pool, []() -> counted { throw std::runtime_error("made"); });
  EXPECT_THROW(pool.run([&] { static_cast<void>(fails.local()); }), std::runtime_error);
  EXPECT_THROW(static_cast<void>(fails.combine([](counted a, counted const&) { return a; })),
               std::runtime_error);
}

TEST_P(each_worker, refuses_threads_that_are_not_of_the_pool) {
  rubato::per_worker<int> all(pool);
  EXPECT_THROW(static_cast<void>(all.local()), std::logic_error);
  rubato::pool other(1);
  EXPECT_THROW(other.run([&] { static_cast<void>(all.local()); }), std::logic_error);
}

TEST_P(each_worker, combines_in_the_order_of_the_numbers) {
  rubato::per_worker<std::string> all(pool);
  pool.broadcast([&] { all.local() = std::to_string(*rubato::current_worker()) + ' '; });
  std::string expected;
  all.for_each([&expected](std::string const& s) { expected += s; });
  EXPECT_EQ(all.combine(std::plus<>{}), expected);
}

TEST(per_worker, regression_a_make_that_waits_makes_no_second_one) {
  hang_guard const guard;
  leak_check const none_left;
  rubato::pool pool(1);
  rubato::per_worker<counted>* here = nullptr;
  bool first = true;
  counted const* inner = nullptr;
  std::thread::id ran_by;
  rubato::per_worker<counted> all(pool, [&] {
    if (std::exchange(first, false))
      pool.spawn([&] {
            inner = &here->local();
            ran_by = std::this_thread::get_id();
          })
          .get();
    return counted(1);
  });
  here = &all;
  pool.spawn([&] {
        counted const* const outer = &all.local();
        // Most often in place; another thread, which may have sat down meanwhile, has one of its own.
        EXPECT_EQ(outer == inner, ran_by == std::this_thread::get_id());
      })
      .get();
  int n = 0;
  all.for_each([&n](counted const&) { ++n; });
  EXPECT_LE(n, 2); // another thread may have sat down meanwhile
}

} // namespace
