// Defects that were found once, each with the shortest program that showed it: children and latent jobs that
// nobody looked for, groups that outlived their parents, ranges that throw.
#include <gtest/gtest.h>

#include "support/hang_guard.hpp"
#include "support/jitter.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <thread>

using namespace rubato_test;
using namespace std::chrono_literals;

namespace {

// Long enough for idle workers, and for the watch, to fall asleep. Who has not is found awake, which was
// never a defect: no test fails because of it.
constexpr auto until_others_sleep = 25ms;

TEST(regression_group, child_of_a_guest_that_left_is_begun) {
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

TEST(regression_group, child_is_begun_while_its_spawner_is_blocked) {
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

TEST(regression_group, child_spawned_from_outside_is_begun_when_the_last_searcher_gives_up) {
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

TEST(regression_group, outlives_the_scope_in_whose_task_it_was_made) {
  rubato::pool pool(2);
  std::unique_ptr<rubato::task_group> group;
  std::atomic<int> ran{0};
  auto const ten_items = [&] { rubato::for_index(0, 10, [&](int) { ++ran; }); };
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& scope) {
      scope.spawn([&] { group = std::make_unique<rubato::task_group>(pool); });
      scope.wait();
      scope.request_stop();
      group->spawn(ten_items);
      group->wait();
    });
  });
  EXPECT_EQ(ran, 10) << "the scope's stop is none of the group";
  for (int i = 0; i != 10; ++i) group->spawn(ten_items); // nothing of the scope is left to look at
  group->wait();
  EXPECT_EQ(ran, 110);
}

TEST(regression_scope, sibling_is_begun_while_its_spawner_and_the_opener_are_blocked) {
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

TEST(regression_join, latent_job_below_a_wait_is_begun_when_the_seat_becomes_vacant) {
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

/// Counts up, throws once at one place, and remembers whether it was asked to go on after that.
struct fragile_iterator {
  using value_type = int;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::forward_iterator_tag;

  struct history {
    std::atomic<bool> thrown{false};
    std::atomic<int> steps_after{0};
  };

  static constexpr int place = 3'000;

  int value = 0;
  history* past = nullptr;

  int operator*() const { return value; }
  fragile_iterator& operator++() {
    if (past->thrown) ++past->steps_after;
    if (value == place && !past->thrown.exchange(true)) throw std::out_of_range("fragile");
    ++value;
    return *this;
  }
  fragile_iterator operator++(int) {
    auto const before = *this;
    ++*this;
    return before;
  }
  bool operator==(fragile_iterator const& other) const { return value == other.value; }
};

TEST(regression_for_each, asks_no_more_of_a_range_whose_iterator_has_thrown) {
  rubato::pool pool(4);
  for (std::size_t round = 0; round != scaled(30); ++round) {
    fragile_iterator::history past;
    auto const range = std::ranges::subrange(fragile_iterator{0, &past}, fragile_iterator{10'000, &past});
    EXPECT_THROW(rubato::for_each(pool, range, [](int) { jitter::spin(1us); }), std::out_of_range);
    ASSERT_EQ(past.steps_after, 0) << "round " << round;
  }
}

} // namespace
