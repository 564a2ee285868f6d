// Which callables get a stop token, and which one.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/rendezvous.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>
#include <rubato/scope.hpp>

#include <atomic>
#include <stop_token>
#include <thread>
#include <tuple>
#include <vector>

using namespace rubato_test;

namespace {

class stop_tokens : public on_workers {};
RUBATO_TEST_WITH_WORKERS(stop_tokens, all_counts);

class stop_tokens_in_parallel : public on_workers {};
RUBATO_TEST_WITH_WORKERS(stop_tokens_in_parallel, counts_in_parallel);

TEST_P(stop_tokens, go_to_callables_of_joins_that_take_one) {
  auto const asks = [](std::stop_token token) { return token.stop_requested(); };
  auto const does_not = [] { return false; };
  pool.run([&] {
    EXPECT_EQ(rubato::join(asks, asks), (std::pair(false, false)));
    EXPECT_EQ(rubato::join(does_not, asks), (std::pair(false, false)));
    EXPECT_EQ(rubato::invoke(asks, does_not, asks), (std::tuple(false, false, false)));
  });
}

TEST_P(stop_tokens, go_first_before_a_context) {
  pool.run([] {
    rubato::with_context([](rubato::context& c) {
      auto [a, b] = rubato::join(
          c,
          [](std::stop_token token, rubato::context& mine) {
            return !token.stop_requested() && mine.index() < ~0U;
          },
          [](rubato::context&) { return true; });
      EXPECT_TRUE(a);
      EXPECT_TRUE(b);
    });
  });
}

TEST_P(stop_tokens, go_to_callables_that_take_anything) {
  auto const count = [](auto const&... args) { return sizeof...(args); };
  EXPECT_EQ(pool.run([&] { return rubato::join(count, count); }),
            (std::pair<std::size_t, std::size_t>(1, 1)));
}

TEST_P(stop_tokens, go_to_children_of_scopes_and_groups) {
  std::atomic<int> with_token{0};
  auto const child = [&](std::stop_token token) {
    if (!token.stop_requested()) ++with_token;
  };
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn(child);
      s.spawn(child);
    });
  });
  rubato::task_group group(pool);
  group.spawn(child);
  group.wait();
  EXPECT_EQ(with_token.load(), 3);
}

TEST_P(stop_tokens, go_to_the_bodies_of_loops) {
  std::atomic<int> sum{0};
  std::vector<int> const values{1, 2, 3};
  pool.run([&] {
    rubato::for_index(0, 10, [&](std::stop_token token, int) { sum += !token.stop_requested(); });
    rubato::for_range(0, 10, [&](std::stop_token token, int low, int high) {
      sum += token.stop_requested() ? 0 : high - low;
    });
    rubato::for_each(values,
                     [&](std::stop_token token, int value) { sum += token.stop_requested() ? 0 : value; });
  });
  EXPECT_EQ(sum.load(), 10 + 10 + 6);
}

TEST_P(stop_tokens, never_go_to_the_operators_of_reduce) {
  struct greedy {
    // Callable with a token first, too: then the sum would come out wrong.
    int operator()(std::stop_token, int) const { return 1'000; }
    int operator()(int value) const { return value; }
    int operator()(std::stop_token, int, int) const { return 1'000; }
    int operator()(int a, int b) const { return a + b; }
  };
  std::vector<int> const values(100, 1);
  EXPECT_EQ(pool.run([&] { return rubato::reduce(values, 0, greedy{}, greedy{}); }), 100);
  EXPECT_EQ(pool.run([&] { return rubato::reduce(rubato::deterministic, values, 0, greedy{}, greedy{}); }),
            100);
}

TEST_P(stop_tokens, of_a_scope_reach_its_children) {
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      EXPECT_FALSE(s.token().stop_requested());
      s.spawn([&](std::stop_token token) {
        EXPECT_TRUE(token.stop_possible());
        EXPECT_FALSE(token.stop_requested());
        s.request_stop();
        EXPECT_TRUE(token.stop_requested());
      });
      s.wait();
      EXPECT_TRUE(s.token().stop_requested());
    });
  });
}

TEST_P(stop_tokens, of_a_scope_reach_joins_loops_and_scopes_below_it) {
  std::atomic<int> stopped{0};
  auto const count = [&](std::stop_token token) { stopped += token.stop_requested(); };
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& outer) {
      outer.spawn([&] {
        rubato::join(
            [&](std::stop_token token) {
              EXPECT_FALSE(token.stop_requested());
              outer.request_stop();
              count(token);
            },
            [] {});
        rubato::join(count, count);
        rubato::with_scope([&](rubato::scope& inner) { count(inner.token()); });
      });
    });
  });
  EXPECT_EQ(stopped.load(), 4);
}

TEST_P(stop_tokens, of_an_inner_scope_leave_the_outer_one_alone) {
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& outer) {
      rubato::with_scope([&](rubato::scope& inner) {
        inner.request_stop();
        EXPECT_TRUE(inner.token().stop_requested());
      });
      EXPECT_FALSE(outer.token().stop_requested());
      bool ran = false;
      outer.spawn([&] { ran = true; });
      outer.wait();
      EXPECT_TRUE(ran);
    });
  });
}

TEST_P(stop_tokens_in_parallel, wake_a_child_that_polls_its_own) {
  milestone begun;
  milestone seen;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&](std::stop_token token) {
        begun.reach();
        while (!token.stop_requested()) std::this_thread::yield();
        seen.reach();
      });
      EXPECT_TRUE(begun.wait());
      s.request_stop();
      EXPECT_TRUE(seen.wait());
    });
  });
}

TEST_P(stop_tokens_in_parallel, call_back_in_a_running_child) {
  milestone begun;
  milestone called;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&](std::stop_token token) {
        std::stop_callback const callback(token, [&] { called.reach(); });
        begun.reach();
        EXPECT_TRUE(called.wait());
      });
      EXPECT_TRUE(begun.wait());
      s.request_stop();
    });
  });
}

} // namespace
