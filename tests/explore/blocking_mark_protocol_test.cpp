// A thread that blocks in the kernel on its seat, under the explorer: the monitor does not sleep while that
// seat hides a task.
#include "explore/chain_protocol.hpp"
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "sync/blocking_mark.hpp"
#include "sync/injector.hpp"
#include "sync/monitor_sleep.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <mutex>

namespace {

using namespace rubato_test;
using injector = rubato::detail::basic_injector<policy>;

/// What a mutant of one of the three threads does.
enum class mutant {
  none,
  marks_late,      ///< the thread looks at its inbox, then marks
  nudges_first,    ///< the pusher nudges the monitor, then pushes
  ignores_its_own, ///< the thread does not look at its inbox
  polls_silently,  ///< a thread that blocks does not tell of what it forks
};

struct world {
  rubato::detail::basic_monitor_sleep<policy> monitor;
  rubato::detail::basic_blocking_mark<policy> mark;
  injector inbox;
  injector::node task;
  actor occupant{true}, substitute{true};
  policy::atomic<std::uint32_t> ran{0};
  world() { monitor.rise(); }

  void run() {
    ran.store(1, std::memory_order_release);
    policy::futex_wake(ran, 1);
  }
  /// In the kernel: nothing but the task's end wakes it.
  void block() {
    while (ran.load(std::memory_order_acquire) == 0) policy::futex_wait(ran, 0);
  }
  /// The monitor sleeps until the seat hides work, and the substitute runs it. As the monitor does.
  void monitor_until_hidden() {
    monitor.sleep_deeply(
        [&] {
          occupant.forks.arm_poll();
          return mark.is_set() && (!inbox.empty() || occupant.forks.has_latent());
        },
        [&](std::uint32_t alarm) { monitor.sleep(alarm); });
  }
};

/// A task is pushed to the inbox of a thread that begins to block until it has run.
template<mutant Mutant = mutant::none>
void bound_to_the_seat(execution& e) {
  auto const w = std::make_shared<world>();
  e.thread([w] {
    if (Mutant != mutant::marks_late) w->mark.enter();
    bool const hides = Mutant != mutant::ignores_its_own && !w->inbox.empty();
    if (Mutant == mutant::marks_late) w->mark.enter();
    if (hides) w->monitor.nudge();
    w->block();
    w->mark.leave();
  });
  e.thread([w] {
    if (Mutant == mutant::nudges_first) w->monitor.nudge();
    w->inbox.push(&w->task);
    if (Mutant != mutant::nudges_first) w->monitor.nudge();
  });
  e.thread([w] {
    do w->monitor_until_hidden();
    while (!w->mark.is_set() || w->inbox.empty()); // a nudge alone
    std::lock_guard const guard(w->inbox);
    EXPLORE_ASSERT(w->inbox.pop() == &w->task);
    w->run();
  });
}

/// A thread forks in its blocking region, and then blocks until the job has run.
template<mutant Mutant = mutant::none>
void forked_in_the_region(execution& e) {
  auto const w = std::make_shared<world>();
  e.thread([w] {
    actor& me = w->occupant;
    w->mark.enter();
    me.forks.arm_poll();
    frame<job> const j(1, [w](actor&) { w->run(); }, me.forks.token());
    me.forks.push(j.get());
    if (me.forks.must_poll()) {
      me.forks.serve_request(&me);
      if (Mutant != mutant::polls_silently && w->monitor.rests_after_poll()) w->monitor.nudge();
    }
    w->block();
    EXPLORE_ASSERT(!pop(me));
    wait_for(me, j->stolen_job.value);
    w->mark.leave();
  });
  e.thread([w] {
    do w->monitor_until_hidden();
    while (!take(w->substitute, w->occupant));
  });
}

tests const all{bound_to_the_seat<>, forked_in_the_region<>};

TEST(blocking_mark_protocol, hides_nothing_from_the_monitor) {
  expect_all_pass({.max_executions = 100'000, .random = 10'000}, all);
}
TEST(blocking_mark_protocol, needs_every_step) {
  expect_all_fail({bound_to_the_seat<mutant::marks_late>, bound_to_the_seat<mutant::nudges_first>,
                   bound_to_the_seat<mutant::ignores_its_own>, forked_in_the_region<mutant::polls_silently>},
                  verdict::deadlock);
}
TEST(blocking_mark_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "blocking_mark.hpp"}, all);
}

} // namespace
