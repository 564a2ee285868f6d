// run: outside threads work in the pool for the length of a call.
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/counting.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;

struct no_default {
  int value;
  explicit no_default(int v)
      : value(v) {}
};

TEST(run, returns_what_the_callable_returns) {
  for (unsigned workers : {0u, 1u, 4u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    EXPECT_EQ(pool.run([] { return 42; }), 42);
    EXPECT_EQ(*pool.run([] { return std::make_unique<int>(7); }), 7);
    EXPECT_EQ(pool.run([] { return no_default(9); }).value, 9);
    bool called = false;
    pool.run([&] { called = true; });
    EXPECT_TRUE(called);
    static_assert(std::is_void_v<decltype(pool.run([] {}))>);
  }
}

TEST(run, returns_references_as_references) {
  rubato::pool pool(2);
  int object = 1;
  static_assert(std::is_same_v<decltype(pool.run([&]() -> int& { return object; })), int&>);
  static_assert(std::is_same_v<decltype(pool.run([&]() -> int const& { return object; })), int const&>);
  EXPECT_EQ(&pool.run([&]() -> int& { return object; }), &object);
}

TEST(run, passes_exceptions_on_and_leaves_the_pool_usable) {
  for (unsigned workers : {0u, 1u, 4u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    try {
      pool.run([]() -> int { throw std::runtime_error("from within"); });
      ADD_FAILURE() << "nothing was thrown";
    } catch (std::runtime_error const& error) {
      EXPECT_STREQ(error.what(), "from within");
    }
    EXPECT_FALSE(rubato::current_worker().has_value()) << "the seat was not given back";
    EXPECT_EQ(pool.run([] { return forked_sum(0, 100); }), sum_below(100));
  }
}

TEST(run, uses_the_thread_of_the_caller) {
  rubato::pool pool(2);
  auto const me = std::this_thread::get_id();
  EXPECT_EQ(pool.run([] { return std::this_thread::get_id(); }), me);
}

TEST(run, makes_the_caller_a_member_for_its_length) {
  for (unsigned workers : {0u, 1u, 4u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    EXPECT_EQ(rubato::current_pool(), nullptr);
    pool.run([&] {
      EXPECT_EQ(rubato::current_pool(), &pool);
      ASSERT_TRUE(rubato::current_worker().has_value());
      EXPECT_LT(*rubato::current_worker(), pool.slots());
    });
    EXPECT_EQ(rubato::current_pool(), nullptr);
    EXPECT_FALSE(rubato::current_worker().has_value());
  }
}

TEST(run, takes_move_only_callables_and_those_that_want_a_token) {
  rubato::pool pool(1);
  EXPECT_EQ(pool.run([p = std::make_unique<int>(5)] { return *p; }), 5);
  EXPECT_FALSE(pool.run([](std::stop_token token) { return token.stop_requested(); }));
  EXPECT_EQ(pool.run([](auto... got) { return sizeof...(got); }), 1u) << "a generic callable gets the token";
}

struct callable_once {
  std::unique_ptr<int> value;
  int operator()() && { return *std::exchange(value, nullptr); }
};

TEST(run, takes_callables_that_can_be_called_once) {
  rubato::pool pool(1);
  EXPECT_EQ(pool.run(callable_once{std::make_unique<int>(3)}), 3);
  EXPECT_EQ(pool.run([] { return rubato::blocking(callable_once{std::make_unique<int>(4)}); }), 4);
  EXPECT_EQ(rubato::blocking(callable_once{std::make_unique<int>(5)}), 5);
}

TEST(run, can_be_nested) {
  rubato::pool pool(1);
  int const result = pool.run([&] {
    auto const outer = rubato::current_worker();
    int const inner = pool.run([&] {
      EXPECT_EQ(rubato::current_pool(), &pool);
      EXPECT_EQ(rubato::current_worker(), outer) << "the thread keeps its number";
      return pool.run([] { return 1; }) + 1;
    });
    EXPECT_EQ(rubato::current_worker(), outer);
    return inner + 1;
  });
  EXPECT_EQ(result, 3);
}

TEST(run, in_a_task_of_the_same_pool_is_a_call) {
  rubato::pool pool(rubato::pool_options().workers(1).spares(0));
  std::atomic<int> result = 0;
  pool.enqueue([&] {
    auto const before = rubato::current_worker();
    result = pool.run([&] { return rubato::current_worker() == before ? 1 : 2; });
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(result, 1);
}

TEST(run, in_a_task_of_another_pool_changes_pools_for_its_length) {
  rubato::pool a(1), b(1);
  std::atomic<int> right = 0;
  a.enqueue([&] {
    auto const number_in_a = rubato::current_worker();
    b.run([&] {
      right += rubato::current_pool() == &b;
      a.run([&] { right += rubato::current_pool() == &a; });
      right += rubato::current_pool() == &b;
      right += forked_sum(0, 200) == sum_below(200);
    });
    right += rubato::current_pool() == &a;
    right += rubato::current_worker() == number_in_a;
  });
  EXPECT_TRUE(a.wait_idle());
  EXPECT_EQ(right, 6);
}

TEST(run, of_two_pools_in_each_other_from_both_sides_does_not_hang) {
  rubato::pool a(1), b(1);
  std::atomic<int> right = 0;
  for (int i = 0; i < 200; ++i) {
    a.enqueue([&] { b.run([&] { right += rubato::current_pool() == &b; }); });
    b.enqueue([&] { a.run([&] { right += rubato::current_pool() == &a; }); });
  }
  EXPECT_TRUE(a.wait_idle());
  EXPECT_TRUE(b.wait_idle());
  EXPECT_EQ(right, 400);
}

TEST(run, begins_at_once_even_if_no_seat_is_free) {
  for (unsigned workers : {0u, 1u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    rendezvous all(5); // passes only if all five callers are inside at once
    std::atomic<int> met = 0;
    {
      std::vector<std::jthread> callers;
      for (int i = 0; i < 5; ++i) callers.emplace_back([&] { met += pool.run([&] { return all.meet(); }); });
    }
    EXPECT_EQ(met, 5);
  }
}

TEST(run, begins_at_once_while_every_worker_computes) {
  rubato::pool pool(rubato::pool_options().workers(2).spares(0));
  std::atomic<bool> inside = false;
  std::atomic<int> begun = 0, saw = 0;
  for (int i = 0; i < 2; ++i) {
    pool.enqueue([&] {
      ++begun;
      saw += computing_until([&] { return inside.load(); });
    });
  }
  ASSERT_TRUE(eventually([&] { return begun == 2; }));
  pool.run([&] { inside = true; });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(saw, 2);
}

TEST(run, leaves_the_other_seats_to_the_workers) {
  // Three seats: the caller and two tasks can be under way at once.
  rubato::pool pool(rubato::pool_options().workers(3).spares(0));
  rendezvous all(3);
  std::atomic<int> met = 0;
  pool.run([&] {
    for (int i = 0; i < 2; ++i) pool.enqueue([&] { met += all.meet(); });
    met += all.meet();
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(met, 3);
}

TEST(run, runs_nothing_but_its_own_on_the_thread_of_the_caller) {
  rubato::pool pool(1);
  auto const me = std::this_thread::get_id();
  std::atomic<int> strangers_here = 0;
  for (int i = 0; i < 2'000; ++i) {
    pool.enqueue([&] { strangers_here += std::this_thread::get_id() == me; });
    pool.run([] { return forked_sum(0, 32); });
  }
  EXPECT_EQ(strangers_here, 0);
  EXPECT_TRUE(pool.wait_idle());
}

TEST(run, from_many_threads_with_joins_gives_each_its_own_result) {
  for (unsigned workers : {0u, 1u, 2u, 7u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    std::atomic<int> wrong = 0;
    {
      std::vector<std::jthread> callers;
      for (unsigned t = 0; t < 4; ++t) {
        callers.emplace_back([&, t] {
          for (unsigned i = 0; i < 100; ++i) {
            unsigned const n = 20 * t + i;
            wrong += pool.run([n] { return forked_sum(0, n); }) != sum_below(n);
          }
        });
      }
    }
    EXPECT_EQ(wrong, 0);
  }
}

TEST(run, on_the_global_pool_works_from_statics_of_any_thread) {
  std::jthread(
      [] { EXPECT_EQ(rubato::pool::global().run([] { return forked_sum(0, 1'000); }), sum_below(1'000)); });
}

} // namespace
