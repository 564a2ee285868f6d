// When a low task counts as normal. The clock is an argument: no test waits.
#include "work/ready_ages.hpp"
#include "work/task_queues.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "rubato/detail/work/thread_context.hpp"

namespace {

using rubato::priority;
using rubato::detail::priority_lane;
using rubato::detail::ready_ages;
using rubato::detail::task;
using rubato::detail::task_queues;

TEST(ready_ages, finds_nothing_old_without_a_note) {
  ready_ages const ages;
  EXPECT_EQ(ages.older_than(100, 1'000'000), 0u);
}

TEST(ready_ages, finds_what_came_before_a_note_and_nothing_later) {
  ready_ages ages;
  ages.take_note(0, 3, 100);
  EXPECT_EQ(ages.older_than(100, 99), 0u);
  EXPECT_EQ(ages.older_than(100, 100), 3u);
  ages.take_note(50, 8, 100);
  EXPECT_EQ(ages.older_than(100, 100), 3u);
  EXPECT_EQ(ages.older_than(100, 149), 3u);
  EXPECT_EQ(ages.older_than(100, 150), 8u);
}

/// Never too early; late by a quarter of the age at most, if a note is taken at each push and at each look.
TEST(ready_ages, are_late_by_a_quarter_at_most) {
  constexpr std::int64_t age = 100;
  ready_ages ages;
  std::vector<std::int64_t> pushed_at;
  std::size_t old = 0;
  for (std::int64_t now = 0; now != 5'000; ++now) {
    if (now % 7 == 0 || now % 11 == 0) {
      pushed_at.push_back(now);
      ages.take_note(now, pushed_at.size(), age);
    }
    ages.take_note(now, pushed_at.size(), age);
    std::size_t const found = ages.older_than(age, now);
    ASSERT_GE(found, old) << "what is old stays old";
    old = found;
    if (old != 0) {
      ASSERT_LE(pushed_at[old - 1], now - age) << "too early";
    }
    if (old != pushed_at.size()) {
      ASSERT_GT(pushed_at[old], now - age - age / 4 - 1) << "too late";
    }
  }
}

/// Notes far apart are kept as well as notes close together.
TEST(ready_ages, last_through_pauses) {
  ready_ages ages;
  ages.take_note(0, 1, 100);
  ages.take_note(10'000, 2, 100);
  EXPECT_EQ(ages.older_than(100, 10'050), 1u);
  EXPECT_EQ(ages.older_than(100, 10'100), 2u);
}

class low_tasks : public testing::Test {
protected:
  static constexpr std::int64_t age_us = 100'000;
  std::int64_t const us = rubato::detail::ticks_per_us();
  std::int64_t const age = age_us * us;
  task_queues queues{1};
  std::vector<task*> made;

  task* push(priority_lane l, std::int64_t now) {
    made.push_back(rubato::detail::make_task([] {}));
    queues.push(made.back(), priority::low, l, now);
    return made.back();
  }
  void TearDown() override {
    while (task* const k = queues.any_task()) k->exec(*k, nullptr);
  }
  void drop(task* k) { k->exec(*k, nullptr); }
};

TEST_F(low_tasks, count_as_normal_after_100_ms) {
  task* const first = push(priority_lane::tasks, 0);
  EXPECT_FALSE(queues.any_aged(age - 1));
  EXPECT_EQ(queues.pop_aged(age - 1), nullptr);
  EXPECT_TRUE(queues.any_aged(age));
  push(priority_lane::tasks, age);
  task* const k = queues.pop_aged(age);
  EXPECT_EQ(k, first);
  drop(k);
  // The look just before the second push was the last note: the next one is taken a quarter later.
  EXPECT_FALSE(queues.any_aged(age + age / 4)) << "the second is new";
  EXPECT_FALSE(queues.any_aged(2 * age - 1));
  EXPECT_TRUE(queues.any_aged(2 * age + age / 4));
}

TEST_F(low_tasks, of_either_lane_count_as_normal) {
  task* const event = push(priority_lane::events, 0);
  task* const other = push(priority_lane::tasks, age / 2);
  task* k = queues.pop_aged(age);
  EXPECT_EQ(k, event);
  drop(k);
  EXPECT_EQ(queues.pop_aged(age), nullptr);
  k = queues.pop_aged(age + age / 2);
  EXPECT_EQ(k, other);
  drop(k);
}

/// A push that comes shortly after another takes no note; a look does.
TEST_F(low_tasks, age_without_further_pushes) {
  push(priority_lane::tasks, 0);
  push(priority_lane::tasks, 1);
  EXPECT_FALSE(queues.any_aged(age / 2));
  drop(queues.pop_aged(age));
  EXPECT_FALSE(queues.any_aged(age)) << "its note was taken at half the age";
  EXPECT_TRUE(queues.any_aged(age + age / 2));
}

TEST_F(low_tasks, that_do_not_wait_leave_nothing_old_behind) {
  for (int i = 0; i != 1'000; ++i) {
    push(priority_lane::tasks, i * us);
    drop(queues.pop(priority::low));
  }
  EXPECT_FALSE(queues.any_aged(1'000 * age));
  push(priority_lane::tasks, 1'000 * age);
  EXPECT_FALSE(queues.any_aged(1'000 * age));
}

TEST_F(low_tasks, are_taken_in_turns_from_both_lanes) {
  for (int i = 0; i != 10; ++i) push(priority_lane::tasks, 0);
  task* const event = push(priority_lane::events, 0);
  bool among_the_first_two = false;
  for (int i = 0; i != 2; ++i) {
    task* const k = queues.pop(priority::low);
    among_the_first_two = among_the_first_two || k == event;
    drop(k);
  }
  EXPECT_TRUE(among_the_first_two);
}

} // namespace
