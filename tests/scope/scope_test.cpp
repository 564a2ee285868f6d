// with_scope: any number of children, from anywhere below it, all done when it returns.
#include <gtest/gtest.h>

#include "support/callables.hpp"
#include "support/closing_time.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/stack_meter.hpp"
#include "support/tally.hpp"
#include "support/values.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>

using namespace rubato_test;

namespace {

class scopes : public on_workers {};
RUBATO_TEST_WITH_WORKERS(scopes, all_counts);

class scopes_in_parallel : public on_workers {};
RUBATO_TEST_WITH_WORKERS(scopes_in_parallel, counts_in_parallel);

TEST_P(scopes, run_every_child_once_before_they_return) {
  for (std::size_t const children : {0U, 1U, 2U, 3U, 64U, 1000U}) {
    tally ran(children);
    pool.run([&] {
      rubato::with_scope([&](rubato::scope& s) {
        for (std::size_t i = 0; i != children; ++i) s.spawn([&ran, i] { ran.hit(i); });
      });
      ran.expect_each_once();
    });
  }
}

TEST_P(scopes, return_the_result_of_their_function_when_all_is_done) {
  int object = 0;
  pool.run([&] {
    EXPECT_EQ(rubato::with_scope([](rubato::scope&) { return 5; }), 5);
    static_assert(std::is_void_v<decltype(rubato::with_scope([](rubato::scope&) {}))>);
    int& reference = rubato::with_scope([&](rubato::scope& s) -> int& {
      s.spawn([&] { object = 7; });
      return object;
    });
    EXPECT_EQ(&reference, &object);
    EXPECT_EQ(reference, 7);
    auto const owned = rubato::with_scope([](rubato::scope& s) {
      auto made = std::make_unique<int>(1);
      s.spawn([p = made.get()] { *p += 1; });
      return made;
    });
    EXPECT_EQ(*owned, 2);
    EXPECT_EQ(rubato::with_scope([](rubato::scope&) { return only_constructible(3); }).value, 3);
  });
}

TEST_P(scopes, take_children_that_only_move_and_own_what_they_carry) {
  leak_check const leaks;
  std::atomic<int> sum{0};
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([p = std::make_unique<int>(1), &sum] { sum += *p; });
      s.spawn(move_only_call(move_only(2)));
      s.spawn(rvalue_call([&sum] { sum += 4; }));
      counted const owned(8);
      auto named = [owned, &sum] { sum += owned.value; };
      s.spawn(named);
      s.spawn(named); // a copy each time
    });
  });
  EXPECT_EQ(sum.load(), 1 + 4 + 8 + 8);
}

TEST_P(scopes, take_children_that_are_large_or_aligned_to_a_line) {
  struct alignas(64) line {
    int value;
  };
  std::atomic<int> right{0};
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      for (int i = 0; i != 20; ++i) {
        s.spawn([block = line{i}, i, &right] { right += is_aligned(block) && block.value == i; });
        std::array<int, 500> many{};
        many.fill(i);
        s.spawn([many, i, &right] { right += many.front() == i && many.back() == i; });
      }
    });
  });
  EXPECT_EQ(right.load(), 40);
}

TEST_P(scopes, destroy_a_child_before_they_return) {
  leak_check const leaks;
  pool.run([] {
    int const before = counted::live();
    rubato::with_scope([](rubato::scope& s) {
      for (int i = 0; i != 100; ++i) s.spawn([owned = counted(i)] { EXPECT_GE(owned.value, 0); });
    });
    EXPECT_EQ(counted::live(), before);
  });
}

TEST_P(scopes, take_children_from_their_children) {
  std::atomic<int> count{0};
  struct tree {
    static void grow(rubato::scope& s, int depth, std::atomic<int>& count) {
      ++count;
      if (depth == 0) return;
      for (int i = 0; i != 2; ++i) s.spawn([&s, depth, &count] { grow(s, depth - 1, count); });
    }
  };
  pool.run([&] { rubato::with_scope([&](rubato::scope& s) { tree::grow(s, 10, count); }); });
  EXPECT_EQ(count.load(), 2047);
}

TEST_P(scopes, take_a_chain_of_children_each_spawned_by_the_last) {
  int const links = static_cast<int>(sized(100'000));
  int length = 0; // no atomic: each link happens before the next
  struct chain {
    static void link(rubato::scope& s, int left, int& length) {
      ++length;
      if (left != 0) s.spawn([&s, left, &length] { link(s, left - 1, length); });
    }
  };
  pool.run([&] { rubato::with_scope([&](rubato::scope& s) { chain::link(s, links, length); }); });
  EXPECT_EQ(length, links + 1);
}

TEST_P(scopes, can_be_waited_for_and_then_take_more) {
  std::atomic<int> done{0};
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.wait(); // nothing yet
      for (int round = 1; round <= 20; ++round) {
        for (int i = 0; i != 10; ++i) s.spawn([&] { ++done; });
        s.wait();
        EXPECT_EQ(done.load(), 10 * round);
      }
      s.spawn([&] { ++done; });
    });
    EXPECT_EQ(done.load(), 201);
  });
}

TEST_P(scopes, nest) {
  std::atomic<int> count{0};
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& outer) {
      for (int i = 0; i != 20; ++i) {
        outer.spawn([&] {
          std::atomic<int> mine{0};
          rubato::with_scope([&](rubato::scope& inner) {
            for (int k = 0; k != 20; ++k) inner.spawn([&] { ++mine; });
          });
          EXPECT_EQ(mine.load(), 20);
          count += mine;
        });
      }
    });
  });
  EXPECT_EQ(count.load(), 400);
}

TEST_P(scopes, let_an_inner_one_spawn_into_an_outer_one) {
  std::atomic<int> count{0};
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& outer) {
      rubato::with_scope([&](rubato::scope& inner) {
        for (int i = 0; i != 50; ++i) {
          inner.spawn([&] { outer.spawn([&] { ++count; }); });
        }
      });
    });
  });
  EXPECT_EQ(count.load(), 50);
}

TEST_P(scopes, mix_with_joins_and_loops) {
  std::atomic<int> count{0};
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      rubato::join([&] { s.spawn([&] { ++count; }); }, [&] { s.spawn([&] { ++count; }); });
      rubato::for_index(0, 100, [&](int) { s.spawn([&] { ++count; }); });
      s.spawn([&] { rubato::for_index(0, 100, [&](int) { ++count; }); });
      s.spawn([&] { rubato::join([&] { ++count; }, [&] { ++count; }); });
    });
  });
  EXPECT_EQ(count.load(), 204);
}

TEST_P(scopes, on_a_named_pool_run_there) {
  std::atomic<int> here{0};
  rubato::with_scope(pool, [&](rubato::scope& s) {
    here += rubato::current_pool() == &pool;
    for (int i = 0; i != 10; ++i) s.spawn([&] { here += rubato::current_pool() == &pool; });
  });
  EXPECT_EQ(here.load(), 11);
  EXPECT_EQ(rubato::current_pool(), nullptr);
}

TEST_P(scopes, take_a_million_children_on_a_stack_that_does_not_grow) {
  std::size_t const children = sized(1'000'000);
  std::atomic<std::size_t> count{0};
  stack_meter meter;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      for (std::size_t i = 0; i != children; ++i) {
        s.spawn([&] {
          meter.touch();
          count.fetch_add(1, std::memory_order_relaxed);
        });
      }
    });
  });
  EXPECT_EQ(count.load(), children);
  EXPECT_LT(meter.extent(), std::size_t{256} << 10);
}

TEST_P(scopes, stop_what_has_not_begun) {
  // A child that was about to begin when the stop came may still do so: at most one per thread.
  leak_check const leaks;
  std::atomic<int> begun{0};
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      for (int i = 0; i != 10'000; ++i) {
        s.spawn([&, owned = counted(i)] {
          ++begun;
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        });
      }
      s.request_stop();
      int const before = begun.load();
      s.wait();
      EXPECT_LE(begun.load() - before, static_cast<int>(GetParam()) + 2);
    });
  });
}

TEST_P(scopes, begin_no_child_spawned_after_a_stop) {
  leak_check const leaks;
  bool ran = false;
  auto const result = pool.run([&] {
    return rubato::with_scope([&](rubato::scope& s) {
      s.request_stop();
      EXPECT_TRUE(s.token().stop_requested());
      s.spawn([&, owned = counted(1)] { ran = true; });
      s.wait();
      return 3;
    });
  });
  EXPECT_FALSE(ran);
  EXPECT_EQ(result, 3);
}

TEST_P(scopes, end_though_children_spawn_for_ever_until_the_stop) {
  closing_time time;
  std::atomic<int> count{0};
  struct endless {
    static void child(rubato::scope& s, closing_time& time, std::atomic<int>& count) {
      time.begin();
      if (++count == 1000) {
        time.close();
        s.request_stop();
      }
      if (!time.overdue()) s.spawn([&] { child(s, time, count); });
    }
  };
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      for (int i = 0; i != 4; ++i) s.spawn([&] { endless::child(s, time, count); });
    });
  });
  EXPECT_GE(count.load(), 1000);
  EXPECT_FALSE(time.overdue());
}

TEST_P(scopes_in_parallel, wait_for_children_that_run_elsewhere) {
  bool done = false;
  milestone begun;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&] {
        begun.reach();
        std::this_thread::sleep_for(
            std::chrono::milliseconds(20)); // gives a scope that does not wait time to err
        done = true;
      });
      EXPECT_TRUE(begun.wait());
    });
    EXPECT_TRUE(done);
  });
}

TEST_P(scopes_in_parallel, run_as_many_children_as_there_are_workers) {
  rendezvous all(GetParam());
  std::atomic<unsigned> met{0};
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      for (unsigned i = 0; i != GetParam(); ++i) s.spawn([&] { met += all.meet(); });
    });
  });
  EXPECT_EQ(met.load(), GetParam());
}

TEST(scope_from_outside, uses_the_global_pool) {
  hang_guard const guard;
  std::atomic<int> here{0};
  auto* const global = &rubato::pool::global();
  rubato::with_scope([&](rubato::scope& s) {
    for (int i = 0; i != 10; ++i) s.spawn([&] { here += rubato::current_pool() == global; });
  });
  EXPECT_EQ(here.load(), 10);
  EXPECT_EQ(rubato::current_pool(), nullptr);
}

} // namespace
