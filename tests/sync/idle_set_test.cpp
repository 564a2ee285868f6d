// Which thread the idle set calls; its protocol is explored by tests/explore.
#include "sync/idle_set.hpp"

#include <gtest/gtest.h>

namespace {

using rubato::detail::idle_set;
using rubato::detail::idle_set_seat;
using rubato::detail::idle_set_thread;
using rubato::detail::leaving;

struct idle_sets : testing::Test {
  idle_set set;
  idle_set_seat seat;
  idle_set_thread first, second;
  idle_sets() { set.open(&seat); }
};

TEST_F(idle_sets, call_the_calling_thread_if_it_is_idle) {
  set.await_call(first), set.await_call(second);
  EXPECT_EQ(set.unpark_for_seat(nullptr, false, -1, &first).sleeper, &first);
}
TEST_F(idle_sets, call_another_if_it_is_not) {
  set.await_call(second);
  EXPECT_EQ(set.unpark_for_seat(nullptr, false, -1, &first).sleeper, &second);
}
TEST_F(idle_sets, call_a_thread_that_ran_on_another_cpu) {
  set.await_call(first), set.await_call(second);
  second.last_cpu = 3;
  EXPECT_EQ(set.unpark_for_seat(nullptr, false, 3).sleeper, &first);
}
TEST_F(idle_sets, call_a_parked_thread_before_one_among_the_events) {
  set.await_call(first), set.await_call(second);
  second.parker.poll([&] { EXPECT_EQ(set.unpark_for_seat().sleeper, &first); });
}

/// While a pool shrinks.
TEST_F(idle_sets, regression_wake_a_thread_needed_until_a_later_call) {
  using withdrawal = idle_set::withdrawal;
  set.await_call(first);
  EXPECT_EQ(set.withdraw(first, true), withdrawal::needed);
  set.unpark_spare();
  EXPECT_FALSE(first.parker.is_notified());
  set.await_call(second);
  EXPECT_EQ(set.unpark_for_seat(nullptr, false, -1, &second).sleeper, &second);
  set.unpark_spare();
  EXPECT_TRUE(first.parker.is_notified());
  EXPECT_EQ(set.withdraw(first, true), withdrawal::done);
}

/// A worker that goes to sleep calls a thread for what is queued, but a seat that only a driver uses goes to
/// the driver.
TEST_F(idle_sets, regression_give_a_drivers_seat_to_no_other_thread) {
  idle_set_seat own;
  own.personal = true;
  set.close(&seat);
  set.open(&own);
  set.count_in(first); // it left the unseated threads when its wait began
  EXPECT_TRUE(set.sit(first, &own, false));
  set.vacate(first, leaving::to_drive);
  set.await_call(second);
  auto const call = set.unpark_for_seat(nullptr, false, -1, &second);
  EXPECT_EQ(call.where, &own);
  EXPECT_EQ(call.sleeper, &first);
}

} // namespace
