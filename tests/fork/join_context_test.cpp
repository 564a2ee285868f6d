// The form that passes a context down.
#include <gtest/gtest.h>

#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>
#include <rubato/thread_pool.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

using namespace rubato_test;
using rubato::context;

namespace {

class join_with_context : public on_workers {};
RUBATO_TEST_WITH_WORKERS(join_with_context, all_counts);

class parallel_context : public on_workers {};
RUBATO_TEST_WITH_WORKERS(parallel_context, counts_in_parallel);

std::uint64_t fib(context& c, unsigned n) {
  if (n < 2) return n;
  auto [a, b] = rubato::join(
      c, [n](context& mine) { return fib(mine, n - 1); }, [n](context& mine) { return fib(mine, n - 2); });
  return a + b;
}

TEST_P(join_with_context, gives_the_serial_result) {
  unsigned const n = under_tsan ? 16 : 22;
  std::uint64_t const expected = under_tsan ? 987 : 17711;
  EXPECT_EQ(pool.run([&] { return rubato::with_context([&](context& c) { return fib(c, n); }); }), expected);
}

TEST_P(join_with_context, begins_with_what_with_context_makes) {
  pool.run([] {
    int object = 0;
    EXPECT_EQ(rubato::with_context([](context&) { return 3; }), 3);
    int& reference = rubato::with_context([&](context&) -> int& { return object; });
    EXPECT_EQ(&reference, &object);
    auto const owned = rubato::with_context([](context&) { return std::make_unique<int>(5); });
    EXPECT_EQ(*owned, 5);
    static_assert(std::is_void_v<decltype(rubato::with_context([](context&) {}))>);
    EXPECT_THROW(rubato::with_context([](context&) { throw 7; }), int);
  });
}

TEST_P(join_with_context, gives_results_like_join) {
  pool.run([] {
    rubato::with_context([](context& c) {
      std::string text = "text";
      auto result = rubato::join(c, [](context&) {}, [](context&) { return std::make_unique<int>(1); });
      static_assert(std::is_same_v<decltype(result), std::pair<std::monostate, std::unique_ptr<int>>>);
      EXPECT_EQ(*result.second, 1);
      auto references = rubato::join(
          c, [&](context&) -> std::string& { return text; }, [](context&) { return only_constructible(2); });
      static_assert(std::is_same_v<decltype(references), std::pair<std::string&, only_constructible>>);
      EXPECT_EQ(&references.first, &text);
      EXPECT_EQ(references.second.value, 2);
    });
  });
}

TEST_P(join_with_context, says_which_thread_it_is_on) {
  std::atomic<int> wrong{0};
  struct tree {
    static int walk(context& c, int depth, rubato::pool& pool, std::atomic<int>& wrong) {
      auto const index = c.index();
      if (rubato::current_worker() != index || index >= pool.slots()) ++wrong;
      if (depth == 0) return 1;
      auto [a, b] = rubato::join(
          c, [&](context& mine) { return walk(mine, depth - 1, pool, wrong); },
          [&](context& mine) { return walk(mine, depth - 1, pool, wrong); });
      if (c.index() != index || rubato::current_worker() != index)
        ++wrong; // constant while the callable runs
      return a + b;
    }
  };
  auto const walk = [&] {
    return rubato::with_context([&](context& c) { return tree::walk(c, 12, pool, wrong); });
  };
  EXPECT_EQ(pool.run(walk), 4096);
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(join_with_context, says_migrated_off_the_thread_that_forked) {
  std::atomic<int> wrong{0};
  struct tree {
    static int walk(context& c, std::thread::id forked_by, int depth, std::atomic<int>& wrong) {
      auto const me = std::this_thread::get_id();
      if (c.migrated() != (me != forked_by)) ++wrong;
      if (depth == 0) return 1;
      auto [a, b] = rubato::join(
          c, [&, me](context& mine) { return walk(mine, me, depth - 1, wrong); },
          [&, me](context& mine) { return walk(mine, me, depth - 1, wrong); });
      return a + b;
    }
  };
  EXPECT_EQ(pool.run([&] {
    return rubato::with_context(
        [&](context& c) { return tree::walk(c, std::this_thread::get_id(), 12, wrong); });
  }),
            4096);
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(join_with_context, says_f_has_not_migrated) {
  pool.run([] {
    rubato::with_context([](context& c) {
      EXPECT_FALSE(c.migrated());
      rubato::join(c, [](context& mine) { EXPECT_FALSE(mine.migrated()); }, [](context&) {});
    });
  });
}

TEST_P(parallel_context, says_migrated_to_a_half_handed_over) {
  milestone begun;
  auto const migrated = pool.run([&] {
    return rubato::with_context([&](context& c) {
      auto result = rubato::join(
          c,
          [&](context& mine) {
            EXPECT_TRUE(begun.wait());
            return mine.migrated();
          },
          [&](context& mine) {
            begun.reach();
            return mine.migrated();
          });
      EXPECT_FALSE(c.migrated());
      return result;
    });
  });
  EXPECT_FALSE(migrated.first);
  EXPECT_TRUE(migrated.second);
}

TEST_P(parallel_context, has_not_migrated_below_a_half_that_has) {
  // migrated() is about the callable's own fork: what a handed-over half forks and runs itself stays with it.
  milestone begun;
  pool.run([&] {
    rubato::with_context([&](context& c) {
      rubato::join(
          c, [&](context&) { EXPECT_TRUE(begun.wait()); },
          [&](context& mine) {
            begun.reach();
            rubato::join(mine, [](context& inner) { EXPECT_FALSE(inner.migrated()); }, [](context&) {});
            EXPECT_TRUE(mine.migrated());
          });
    });
  });
}

TEST_P(join_with_context, mixes_with_plain_joins_and_loops) {
  auto const sum = pool.run([] {
    return rubato::with_context([](context& c) {
      auto [a, b] = rubato::join(
          c,
          [](context& mine) {
            auto [x, y] = rubato::join([&] { return fib(mine, 10); }, [] { return std::uint64_t{1}; });
            return x + y;
          },
          [](context&) {
            std::atomic<std::uint64_t> count{0};
            rubato::for_index(0, 100, [&](int) { ++count; });
            return count.load();
          });
      return a + b;
    });
  });
  EXPECT_EQ(sum, 55U + 1 + 100);
}

TEST_P(join_with_context, throws_what_a_join_throws) {
  leak_check const leaks;
  auto const throw_from = [&](bool f_throws, bool g_throws) {
    return thrown_by(pool, [&] {
      rubato::with_context([&](context& c) {
        rubato::join(
            c,
            [&](context&) {
              if (f_throws) throw counted_error(1);
            },
            [&](context&) {
              if (g_throws) throw counted_error(2);
            });
      });
    });
  };
  for (int round = 0; round != 50; ++round) {
    ASSERT_EQ(throw_from(true, false), 1);
    ASSERT_EQ(throw_from(false, true), 2);
    ASSERT_EQ(throw_from(true, true), 1);
    ASSERT_EQ(throw_from(false, false), std::nullopt);
  }
}

TEST(join_with_context_from_outside, uses_the_global_pool) {
  hang_guard const guard;
  auto* const used = rubato::with_context([](context& c) {
    EXPECT_EQ(rubato::current_worker(), c.index());
    return rubato::join(c, [](context&) {}, [](context&) { return rubato::current_pool(); }).second;
  });
  EXPECT_EQ(used, &rubato::pool::global());
  EXPECT_EQ(rubato::current_pool(), nullptr);
}

} // namespace
