// The monitor's sleep under the explorer: no event, no latent job and no timer stays unseen while it sleeps.
#include "explore/chain_protocol.hpp"
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "sync/monitor_sleep.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>

namespace {

using namespace rubato_test;
using rubato::detail::monitor_rest;
using monitor_sleep = rubato::detail::basic_monitor_sleep<policy>;

/// What a mutant of the monitor or of the owner does.
enum class mutant {
  none,
  announces_late,   ///< the monitor looks, then says that it sleeps
  arms_early,       ///< the monitor arms the poll, then says that it sleeps
  reads_alarm_late, ///< the monitor looks, then reads the alarm
  asks_early,       ///< the owner asks whether the monitor rests, then lowers its limit
  rings_first,      ///< a thread rings, then makes its event
};

struct world {
  monitor_sleep sleep;
  actor owner, thief;
  policy::atomic<bool> ran{false};
  policy::atomic<int> events{0};
  policy::plain<int> written{0}; // before the event
  rubato::detail::basic_mutex<policy> timers;
  policy::plain<bool> due{false};
  explicit world(bool asymmetric = true)
      : owner(asymmetric)
      , thief(asymmetric) {}
};

/// The monitor sleeps until `over(world)`; each look includes that.
template<mutant Mutant, class Over>
void monitor(world& w, Over over) {
  auto const see = [&] {
    w.owner.forks.arm_poll();
    return over(w) || w.owner.forks.has_latent();
  };
  while (!over(w)) {
    if (w.owner.forks.has_latent()) {
      w.thief.parker.unpark();
      while (!over(w)) policy::pause();
      return;
    }
    if constexpr (Mutant == mutant::announces_late) {
      std::uint32_t const then = w.sleep.alarm();
      if (see()) continue;
      w.sleep.announce(monitor_rest::asleep);
      w.sleep.sleep(then);
      w.sleep.rise();
    } else if constexpr (Mutant == mutant::arms_early) {
      w.owner.forks.arm_poll();
      std::uint32_t const then = w.sleep.alarm();
      w.sleep.announce(monitor_rest::asleep);
      if (!(over(w) || w.owner.forks.has_latent())) w.sleep.sleep(then);
      w.sleep.rise();
    } else if constexpr (Mutant == mutant::reads_alarm_late) {
      w.sleep.announce(monitor_rest::asleep);
      if (!see()) w.sleep.sleep(w.sleep.alarm());
      w.sleep.rise();
    } else {
      w.sleep.sleep_deeply(see, [&](std::uint32_t then) { w.sleep.sleep(then); });
    }
  }
}

/// Threads queue work and nudge the monitor, which must see what each has written.
template<int Threads, mutant Mutant = mutant::none>
void nudged(execution& e) {
  auto const w = std::make_shared<world>();
  for (int i = 0; i != Threads; ++i)
    e.thread([w] {
      if (Mutant == mutant::rings_first) w->sleep.nudge();
      if (Threads == 1) w->written.set(1);
      w->events.fetch_add(1, std::memory_order_seq_cst);
      if (Mutant != mutant::rings_first) w->sleep.nudge();
    });
  e.thread([w] {
    monitor<Mutant>(*w, [](world& x) { return x.events.load(std::memory_order_seq_cst) == Threads; });
    if (Threads == 1) EXPLORE_ASSERT(w->written.get() == 1);
  });
}
/// It sleeps lightly: only an event of that depth ends the sleep, and a deeper one does too.
void light_sleep(execution& e) {
  auto const w = std::make_shared<world>();
  auto const over = [w] { return w->events.load(std::memory_order_seq_cst) == 1; };
  e.thread([w] {
    w->events.fetch_add(1, std::memory_order_seq_cst);
    w->sleep.nudge(monitor_rest::light);
  });
  e.thread([w, over] {
    while (!over()) {
      std::uint32_t const then = w->sleep.alarm(); // as in monitor_main(): before the first look
      if (over()) return;
      w->sleep.announce(monitor_rest::light);
      if (!over()) w->sleep.sleep(then);
      w->sleep.rise();
    }
  });
}
/// A timer is armed: the monitor looks at the timers each time that it goes to sleep.
template<mutant Mutant = mutant::none>
void timer(execution& e) {
  auto const w = std::make_shared<world>();
  e.thread([w] {
    if (Mutant == mutant::rings_first) w->sleep.ring();
    {
      std::lock_guard const guard(w->timers);
      w->due.set(true);
    }
    if (Mutant != mutant::rings_first) w->sleep.ring();
  });
  e.thread([w] {
    bool fired = false;
    w->sleep.sleep_deeply([&] { return fired; },
                          [&](std::uint32_t then) {
                            {
                              std::lock_guard const guard(w->timers);
                              fired = w->due.get();
                            }
                            if (!fired) w->sleep.sleep(then);
                          });
  });
}

/// Forks a job, and polls at each later fork as poll_requests() does: it computes until a thief has run it.
template<mutant Mutant>
void fork_and_compute(world& w) {
  actor& me = w.owner;
  auto const poll = [&] {
    if (!me.forks.must_poll()) return;
    bool rests = Mutant == mutant::asks_early && w.sleep.rests_after_poll();
    me.forks.serve_request(&me);
    if (Mutant != mutant::asks_early) rests = w.sleep.rests_after_poll();
    if (rests) w.thief.parker.unpark();
  };
  poll(); // of an earlier fork
  frame<job> const j(1, [&w](actor&) { w.ran.store(true, std::memory_order_release); }, me.forks.token());
  me.forks.push(j.get());
  for (poll(); !w.ran.load(std::memory_order_acquire); poll()) policy::pause();
  if (pop(me)) EXPLORE_ASSERT(false);
  wait_for(me, j->stolen_job.value);
  w.events.fetch_add(1, std::memory_order_seq_cst); // the end of the test
  w.sleep.nudge();
}
/// A thread forks beside a sleeping worker while the monitor goes to sleep. `Asks`: an earlier request of the
/// worker's is still there.
template<bool Asymmetric, bool Asks, mutant Mutant = mutant::none>
void latent(execution& e) {
  auto const w = std::make_shared<world>(Asymmetric);
  w->sleep.rise();
  e.thread([w] { fork_and_compute<Mutant>(*w); });
  e.thread(
      [w] { monitor<Mutant>(*w, [](world& x) { return x.events.load(std::memory_order_seq_cst) == 1; }); });
  e.thread([w] {
    if (Asks && w->owner.forks.ask(w->thief.box, &w->thief, w->thief.forks.mark(), {})) {
      steal_result l;
      if (!w->owner.forks.withdraw(w->thief.box))
        while (!latent_chain::collect(w->thief.box, l)) policy::pause();
      run(w->thief, l);
      if (!l) w->sleep.nudge(monitor_rest::light);
    }
    while (!w->ran.load(std::memory_order_relaxed)) {
      w->thief.parker.park();
      // As pool_core::after_vacating() does: the search may have come before the fork.
      if (!take(w->thief, w->owner)) w->sleep.nudge(monitor_rest::light);
    }
  });
}

tests const all{nudged<1>,           nudged<2>,          light_sleep,         timer<>,
                latent<true, false>, latent<true, true>, latent<false, false>};

TEST(monitor_sleep_protocol, leaves_nothing_unseen) {
  expect_all_pass({.max_executions = 100'000, .random = 10'000}, all);
}
TEST(monitor_sleep_protocol, needs_every_step) {
  expect_all_fail({nudged<1, mutant::announces_late>, nudged<1, mutant::reads_alarm_late>,
                   nudged<1, mutant::rings_first>, timer<mutant::rings_first>,
                   latent<true, false, mutant::arms_early>, latent<true, true, mutant::asks_early>},
                  verdict::deadlock);
}
TEST(monitor_sleep_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "monitor_sleep.hpp"}, all);
}

} // namespace
