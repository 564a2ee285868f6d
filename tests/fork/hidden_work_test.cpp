// While a worker is idle, nothing that could be begun stays hidden behind work that goes on and on: each leaf
// here ends only after what hides behind it has run, or fails when its patience does.
#include <gtest/gtest.h>

#include "support/jitter.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <functional>
#include <list>
#include <memory>
#include <numeric>
#include <ranges>
#include <sstream>
#include <thread>
#include <vector>

using namespace rubato_test;

namespace {

// Long enough for idle workers, and for the monitor, to fall asleep. No test fails because a thread has not.
constexpr std::chrono::milliseconds until_others_sleep{25};

class hidden_work : public on_workers {};
RUBATO_TEST_WITH_WORKERS(hidden_work, counts_in_parallel);

TEST_P(hidden_work, behind_a_leaf_that_sleeps_is_begun_in_a_join) {
  for (std::size_t round = 0; round != scaled(100) && !HasFailure(); ++round) {
    milestone ran;
    pool.run([&] { rubato::join([&] { ASSERT_TRUE(ran.wait()); }, [&] { ran.reach(); }); });
  }
}

TEST_P(hidden_work, behind_a_leaf_that_computes_is_begun_in_a_join) {
  for (std::size_t round = 0; round != scaled(100) && !HasFailure(); ++round) {
    milestone ran;
    pool.run([&] { rubato::join([&] { ASSERT_TRUE(ran.compute_until()); }, [&] { ran.reach(); }); });
  }
}

TEST_P(hidden_work, behind_a_leaf_is_begun_in_a_join_with_a_context) {
  milestone ran;
  pool.run([&] {
    rubato::with_context([&](rubato::context& c) {
      rubato::join(
          c, [&](rubato::context&) { EXPECT_TRUE(ran.compute_until()); },
          [&](rubato::context&) { ran.reach(); });
    });
  });
}

TEST_P(hidden_work, of_forty_joins_behind_one_leaf_is_begun) {
  struct nest {
    static void into(int depth, arrivals& ran) {
      if (depth == 0) {
        EXPECT_TRUE(ran.wait_for(40));
      } else {
        rubato::join([&] { into(depth - 1, ran); }, [&] { ran.arrive(); });
      }
    }
  };
  for (int round = 0; round != 10 && !HasFailure(); ++round) {
    arrivals fresh;
    pool.run([&] { nest::into(40, fresh); });
    EXPECT_EQ(fresh.count(), 40U);
  }
}

TEST_P(hidden_work, behind_a_leaf_that_forked_before_is_begun) {
  // The chain has been used and emptied many times when the leaf begins.
  milestone ran;
  pool.run([&] {
    rubato::join(
        [&] {
          std::uint64_t sum = 0;
          for (std::size_t i = 0; i != sized(100'000); ++i) {
            auto [a, b] = rubato::join([i] { return i; }, [i] { return i; });
            sum += a + b;
          }
          EXPECT_GT(sum, 0U);
          EXPECT_TRUE(ran.compute_until());
        },
        [&] { ran.reach(); });
  });
}

TEST_P(hidden_work, of_a_scope_is_begun_while_its_owner_computes) {
  for (std::size_t round = 0; round != scaled(50) && !HasFailure(); ++round) {
    arrivals ran;
    pool.run([&] {
      rubato::with_scope([&](rubato::scope& s) {
        for (int i = 0; i != 40; ++i) s.spawn([&] { ran.arrive(); });
        ASSERT_TRUE(ran.wait_for(40)); // not s.wait(): the owner lends no hand
      });
    });
  }
}

TEST_P(hidden_work, of_a_scope_is_begun_while_a_child_computes) {
  arrivals ran;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&] {
        for (int i = 0; i != 40; ++i) s.spawn([&] { ran.arrive(); });
        EXPECT_TRUE(ran.wait_for(40));
      });
    });
  });
}

TEST_P(hidden_work, of_an_outer_scope_begins_while_an_inner_computes) {
  milestone ran;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& outer) {
      outer.spawn([&] { ran.reach(); });
      rubato::with_scope([&](rubato::scope& inner) {
        rubato::join([&] { EXPECT_TRUE(ran.wait()); }, [&] { inner.spawn([] {}); });
      });
    });
  });
}

TEST_P(hidden_work, of_a_task_group_begins_though_no_thread_waits) {
  pool.run([&] {
    milestone ran;
    rubato::task_group group(pool);
    group.spawn([&] { ran.reach(); });
    EXPECT_TRUE(ran.compute_until());
  });
}

TEST_P(hidden_work, behind_the_first_index_of_a_loop_is_begun) {
  // Whichever index is the first to run, it waits for all the others.
  for (std::size_t const length : {2U, 3U, 64U, 1'000U}) {
    arrivals ran;
    std::atomic<bool> first{true};
    pool.run([&] {
      rubato::for_index(std::size_t{0}, length, [&](std::size_t) {
        if (first.exchange(false)) {
          EXPECT_TRUE(ran.wait_for(length - 1));
        } else {
          ran.arrive();
        }
      });
    });
  }
}

TEST_P(hidden_work, at_the_end_of_a_loop_of_light_indices_is_shared) {
  // 64 heavy indices after a million light ones, by whose measure they all fit into one piece.
  std::size_t const light = sized(1'000'000);
  rendezvous two(2);
  std::atomic<int> met{0};
  std::atomic<std::uint64_t> sum{0};
  pool.run([&] {
    rubato::for_index(std::size_t{0}, light + 64, [&](std::size_t i) {
      if (i < light) {
        if (i % 1'024 == 0) sum.fetch_add(i, std::memory_order_relaxed);
      } else {
        met += two.meet();
      }
    });
  });
  EXPECT_EQ(met.load(), 64);
}

TEST_P(hidden_work, at_the_end_of_a_loop_over_elements_is_shared) {
  std::vector<unsigned char> heavy(sized(1'000'000));
  std::fill(heavy.end() - 64, heavy.end(), static_cast<unsigned char>(1));
  rendezvous two(2);
  std::atomic<int> met{0};
  pool.run([&] {
    rubato::for_each(heavy, [&](unsigned char h) {
      if (h) met += two.meet();
    });
  });
  EXPECT_EQ(met.load(), 64);
}

TEST_P(hidden_work, at_the_end_of_a_reduction_is_shared) {
  std::size_t const light = sized(1'000'000);
  rendezvous two(2);
  auto const map = [&](std::size_t i) { return i < light ? 0 : static_cast<int>(two.meet()); };
  auto const numbers = std::views::iota(std::size_t{0}, light + 64);
  EXPECT_EQ(pool.run([&] { return rubato::reduce(numbers, 0, std::plus<>{}, map); }), 64);
}

/// As many heavy items as there are workers, up to 8. Each ends only after all of them have begun.
class heavy_items {
  arrivals begun_;
  std::atomic<int> ended_in_time_{0};

public:
  std::size_t const count;

  explicit heavy_items(unsigned workers)
      : count(std::min(workers, 8U)) {}
  void run() {
    begun_.arrive();
    if (begun_.wait_for(count)) ++ended_in_time_;
  }
  [[nodiscard]] bool all_ended_in_time() const { return ended_in_time_ == static_cast<int>(count); }
};

TEST_P(hidden_work, regression_heavy_ends_of_short_loops_begin) {
  for (std::size_t const length : {40U, 72U, 100U, 200U, 500U, 1'000U}) {
    heavy_items heavy(GetParam());
    pool.run([&] {
      rubato::for_index(std::size_t{0}, length, [&](std::size_t i) {
        if (i >= length - heavy.count) heavy.run();
      });
    });
    ASSERT_TRUE(heavy.all_ended_in_time()) << length;
  }
}

TEST_P(hidden_work, regression_heavy_ends_of_forward_ranges_begin) {
  for (std::size_t const length : {64U, 65U, 500U, 3'000U}) {
    auto const expect_all_begun = [&](auto&& range) {
      heavy_items heavy(GetParam());
      pool.run([&] {
        rubato::for_each(range, [&](std::size_t n) {
          if (n >= length - heavy.count) heavy.run();
        });
      });
      EXPECT_TRUE(heavy.all_ended_in_time()) << length;
    };
    std::list<std::size_t> linked(length);
    std::iota(linked.begin(), linked.end(), 0U);
    expect_all_begun(linked);
    expect_all_begun(std::forward_list<std::size_t>(linked.begin(), linked.end()));
    expect_all_begun(linked | std::views::filter([](std::size_t) { return true; }));
  }
}

TEST_P(hidden_work, regression_heavy_ends_of_reductions_begin) {
  for (std::size_t const length : {100U, 3'000U, 20'000U, 100'000U}) {
    auto const numbers = std::views::iota(std::size_t{0}, length);
    auto const expect_all_begun = [&](auto... deterministic) {
      heavy_items heavy(GetParam());
      auto const map = [&](std::size_t n) {
        if (n >= length - heavy.count) heavy.run();
        return n;
      };
      auto const sum = pool.run(
          [&] { return rubato::reduce(deterministic..., numbers, std::size_t{0}, std::plus<>{}, map); });
      EXPECT_EQ(sum, length * (length - 1) / 2);
      EXPECT_TRUE(heavy.all_ended_in_time()) << length;
    };
    expect_all_begun();
    expect_all_begun(rubato::deterministic);
  }
}

/// Every element takes long enough to be a chunk of its own; the hundredth waits for all the others.
template<class Range>
void expect_no_element_behind_the_hundredth(rubato::pool& pool, Range&& range, std::size_t size) {
  arrivals ran;
  bool complete = false;
  pool.run([&] {
    rubato::for_each(range, [&](std::size_t n) {
      if (n == 100) {
        complete = ran.wait_for(size - 1);
      } else {
        jitter::spin(std::chrono::microseconds(100));
        ran.arrive();
      }
    });
  });
  EXPECT_TRUE(complete);
}

TEST_P(hidden_work, of_heavy_elements_is_not_behind_another_element) {
  std::vector<std::size_t> numbers(200);
  std::iota(numbers.begin(), numbers.end(), 0U);
  std::list<std::size_t> linked(numbers.begin(), numbers.end());
  std::stringstream text;
  for (auto const n : numbers) text << n << ' ';
  expect_no_element_behind_the_hundredth(pool, numbers, numbers.size());
  expect_no_element_behind_the_hundredth(pool, linked, linked.size());
  expect_no_element_behind_the_hundredth(pool, std::views::istream<std::size_t>(text), numbers.size());
}

TEST_P(hidden_work, behind_a_loop_is_begun) {
  // A latent half below a loop on the same thread.
  milestone ran;
  pool.run([&] {
    rubato::join([&] { rubato::for_index(0, 1, [&](int) { EXPECT_TRUE(ran.wait()); }); },
                 [&] { ran.reach(); });
  });
}

TEST_P(hidden_work, on_the_stack_of_a_thread_that_waits_is_begun) {
  // c waits below the join of a and b; b is elsewhere and ends only after c. The thread that waits for b may
  // not run c, so that another has to fetch it there, and if all workers wait, one more thread must come.
  for (int round = 0; round != 20 && !HasFailure(); ++round) {
    milestone b_begun;
    milestone c_ran;
    pool.run([&] {
      rubato::join(
          [&] {
            rubato::join([&] { ASSERT_TRUE(b_begun.wait()); },
                         [&] {
                           b_begun.reach();
                           ASSERT_TRUE(c_ran.wait());
                         });
          },
          [&] { c_ran.reach(); });
    });
  }
}

TEST_P(hidden_work, of_a_scope_whose_owner_waits_elsewhere_is_begun) {
  milestone b_begun;
  milestone child_ran;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      // Two children: if the worker that is to take b finds the first one, b stays for the next.
      rubato::join([&] { EXPECT_TRUE(b_begun.wait()); },
                   [&] {
                     b_begun.reach();
                     s.spawn([&] { child_ran.reach(); });
                     EXPECT_TRUE(child_ran.wait());
                   });
    });
  });
}

TEST_P(hidden_work, keeps_every_worker_busy_at_once) {
  // As many leaves as workers meet, in a tree of joins: no worker was left without.
  rendezvous all(GetParam());
  struct tree {
    static unsigned leaves(unsigned count, rendezvous& all) {
      if (count == 1) return all.meet();
      auto [a, b] = rubato::join([&] { return leaves(count / 2, all); },
                                 [&] { return leaves(count - count / 2, all); });
      return a + b;
    }
  };
  EXPECT_EQ(pool.run([&] { return tree::leaves(GetParam(), all); }), GetParam());
}

TEST(hidden_work, regression_child_of_a_guest_that_left_is_begun) {
  for (std::size_t round = 0; round != scaled(10); ++round) {
    milestone begun;
    rubato::pool pool(2);
    std::this_thread::sleep_for(until_others_sleep);
    std::unique_ptr<rubato::task_group> group;
    pool.run([&] {
      group = std::make_unique<rubato::task_group>(pool); // its home is the record that run() gives back
      group->spawn([&] { begun.reach(); });
    });
    ASSERT_TRUE(begun.wait()) << "round " << round;
  }
}

TEST(hidden_work, regression_child_begins_while_its_spawner_blocks) {
  milestone begun, waited;
  std::atomic<bool> in_time{false};
  rubato::pool pool(1);
  std::unique_ptr<rubato::task_group> group;
  pool.run([&] { group = std::make_unique<rubato::task_group>(pool); }); // so its home is not the spawner
  pool.enqueue([&] {
    jitter::spin(until_others_sleep);
    group->spawn([&] { begun.reach(); });
    in_time = rubato::blocking([&] { return begun.wait(); });
    waited.reach();
  });
  EXPECT_TRUE(waited.wait());
  EXPECT_TRUE(in_time);
}

TEST(hidden_work, regression_child_begins_after_the_last_search) {
  rubato::pool pool(2);
  std::unique_ptr<rubato::task_group> group;
  milestone made;
  pool.enqueue([&] {
    group = std::make_unique<rubato::task_group>(pool);
    made.reach();
  });
  ASSERT_TRUE(made.wait());
  for (std::size_t round = 0; round != scaled(2'000); ++round) {
    milestone awake, begun;
    pool.enqueue([&] { awake.reach(); });
    ASSERT_TRUE(awake.wait());
    // a search lasts some tens of microseconds: this scans its end
    jitter::spin(std::chrono::microseconds(10 + round % 60));
    group->spawn([&] { begun.reach(); });
    bool const in_time = begun.wait();
    if (!in_time) group->wait(); // the child's milestone ends with this round
    ASSERT_TRUE(in_time) << "round " << round;
  }
}

TEST(hidden_work, regression_second_child_begins_while_both_block) {
  milestone begun, waited;
  std::atomic<bool> in_time{false};
  rubato::pool pool(1);
  pool.enqueue([&] {
    rubato::with_scope([&](rubato::scope& scope) {
      scope.spawn([&] {
        jitter::spin(until_others_sleep);
        scope.spawn([&] { begun.reach(); });
        in_time = rubato::blocking([&] { return begun.wait(); });
        waited.reach();
      });
      rubato::blocking([&] { EXPECT_TRUE(waited.wait()); });
    });
  });
  EXPECT_TRUE(waited.wait());
  EXPECT_TRUE(in_time);
}

TEST(hidden_work, regression_a_latent_job_begins_on_a_vacant_seat) {
  milestone spawned, taken, begun, end;
  std::atomic<bool> in_time{false};
  rubato::pool pool(1);
  rubato::task_group group(pool);
  pool.enqueue([&] {
    pool.enqueue([&] { // runs on the seat that the wait below leaves
      jitter::spin(until_others_sleep);
      in_time = rubato::blocking([&] { return begun.wait(); });
      end.reach();
    });
    rubato::join(
        [&] {
          group.spawn([&] {
            taken.reach();
            rubato::blocking([&] { EXPECT_TRUE(end.wait()); });
          });
          spawned.reach();
          EXPECT_TRUE(taken.wait());
          group.wait();
        },
        [&] { begun.reach(); });
  });
  EXPECT_TRUE(spawned.wait());
  pool.run([&] { group.wait(); }); // takes the child, so that its spawner has nothing to run
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(in_time);
}

} // namespace
