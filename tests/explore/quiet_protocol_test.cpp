// Quiescence under the explorer: the answer is yes only after everything has run, and a thread that waits for
// it comes back. The idle set's tests run it beside whole workers.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "sync/quiet.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace {

using namespace rubato_test;
using quiet = rubato::detail::basic_quiet<policy, 2>;

constexpr auto seq_cst = std::memory_order_seq_cst;

/// What a thread leaves out or swaps.
enum class mutant {
  none,
  moves_unseen,  ///< it moves tasks, and says nothing
  takes_early,   ///< it takes a task, then counts as running
  disarms_early, ///< a timer is disarmed, then what it makes ready is queued
  not_counted,   ///< a run that has begun and ended is not counted
  asks_early,    ///< a thread asks, then announces that it waits
  reads_late,    ///< it asks, then reads the number of changes
  silent_timer,  ///< the last timer tells no thread
  arms_late,     ///< a timer is disarmed, then the next one is armed
  timers_first,  ///< a thread asks for the timers before it asks for the runs
};

struct pool {
  quiet idle;
  policy::atomic<int> running{0}, first{0}, second{0}; // what is queued
  policy::plain<int> runs{0};                          // by one worker

  [[nodiscard]] bool holds() const {
    return idle.holds([] { return std::uint64_t{0}; }, [this] { return running.load(seq_cst) != 0; },
                      [this] { return first.load(seq_cst) != 0 || second.load(seq_cst) != 0; });
  }
  template<mutant Mutant>
  [[nodiscard]] bool is_quiet() const {
    if (Mutant != mutant::timers_first) return holds();
    return !idle.any_armed() && running.load(seq_cst) == 0 && first.load(seq_cst) == 0;
  }
  /// As quiescence::notify_if_quiet() does.
  void tell() {
    if (running.load(seq_cst) == 0 && idle.is_awaited()) idle.notify_all();
  }
  /// As quiescence::disarmed() does.
  void tell_of_timer() {
    if (idle.is_awaited() && !idle.any_armed()) tell();
  }
  /// Runs a task of that queue when there is one. The task queues `more` in the first.
  template<mutant Mutant>
  void run(policy::atomic<int>& from, int more) {
    while (from.load(seq_cst) == 0) policy::pause();
    if (Mutant == mutant::takes_early) from.fetch_sub(1, seq_cst);
    running.fetch_add(1, seq_cst);
    if (Mutant != mutant::not_counted) idle.began();
    if (Mutant != mutant::takes_early) from.fetch_sub(1, seq_cst);
    runs.set(runs.get() + 1);
    if (more != 0) first.fetch_add(more, seq_cst);
    running.fetch_sub(1, seq_cst);
    tell();
  }
  /// As task_queues::share() does.
  template<mutant Mutant>
  void move() {
    auto const over = [this] {
      first.fetch_sub(1, seq_cst);
      second.fetch_add(1, seq_cst);
    };
    if constexpr (Mutant == mutant::moves_unseen) {
      over();
    } else {
      quiet::in_transit const moving(idle);
      over();
    }
  }
  template<mutant Mutant>
  void fire() {
    if (Mutant != mutant::disarms_early) first.fetch_add(1, seq_cst);
    idle.disarm(1);
    if (Mutant == mutant::disarms_early) first.fetch_add(1, seq_cst);
    if (Mutant != mutant::silent_timer) tell_of_timer();
  }
  /// As await_quiescence() does.
  template<mutant Mutant>
  void wait() {
    std::uint32_t changes = idle.changes();
    bool const answer = Mutant == mutant::asks_early && holds();
    quiet::announcement const announced(idle);
    if (Mutant == mutant::asks_early && !answer) idle.sleep(changes);
    for (;;) {
      changes = idle.changes();
      if (is_quiet<Mutant>()) return;
      if (Mutant == mutant::reads_late) changes = idle.changes();
      idle.sleep(changes);
    }
  }
};

/// One task is queued, and queues another.
template<mutant Mutant = mutant::none>
void running(execution& e) {
  auto const p = std::make_shared<pool>();
  p->first.store(1);
  e.thread([p] {
    p->run<Mutant>(p->first, 1);
    p->run<Mutant>(p->first, 0);
  });
  e.thread([p] {
    p->wait<Mutant>();
    EXPLORE_ASSERT(p->runs.get() == 2);
  });
}
/// A thread moves it to another queue meanwhile.
template<mutant Mutant = mutant::none>
void moving(execution& e) {
  auto const p = std::make_shared<pool>();
  p->first.store(1);
  e.thread([p] {
    p->move<Mutant>();
    p->tell();
  });
  e.thread([p] { p->run<Mutant>(p->second, 0); });
  e.thread([p] {
    p->wait<Mutant>();
    EXPLORE_ASSERT(p->runs.get() == 1);
  });
}
/// A timer queues it.
template<mutant Mutant = mutant::none>
void timer(execution& e) {
  auto const p = std::make_shared<pool>();
  p->idle.arm(0);
  e.thread([p] { p->fire<Mutant>(); });
  e.thread([p] { p->run<Mutant>(p->first, 0); });
  e.thread([p] {
    p->wait<Mutant>();
    EXPLORE_ASSERT(p->runs.get() == 1);
  });
}
/// A task that runs arms a timer, which queues another one.
template<mutant Mutant = mutant::none>
void regression_timer_of_a_run(execution& e) {
  auto const p = std::make_shared<pool>();
  p->running.store(1);
  e.thread([p] {
    p->idle.arm(0);
    p->running.fetch_sub(1, seq_cst);
    p->tell();
    p->fire<Mutant>();
    p->run<Mutant>(p->first, 0);
  });
  e.thread([p] {
    p->wait<Mutant>();
    EXPLORE_ASSERT(p->runs.get() == 1);
  });
}
/// A timer is cancelled: nothing runs.
template<mutant Mutant = mutant::none>
void cancelled_timer(execution& e) {
  auto const p = std::make_shared<pool>();
  p->idle.arm(0);
  e.thread([p] {
    p->idle.disarm(1);
    if (Mutant != mutant::silent_timer) p->tell_of_timer();
  });
  e.thread([p] { p->wait<Mutant>(); });
}
/// Two threads cancel one each.
void two_cancelled_timers(execution& e) {
  auto const p = std::make_shared<pool>();
  p->idle.arm(0);
  p->idle.arm(1);
  for (unsigned thread : {0U, 1U})
    e.thread([p, thread] {
      p->idle.disarm(thread);
      p->tell_of_timer();
    });
  e.thread([p] { p->wait<mutant::none>(); });
}
/// A thread arms one in each stripe in turn, and disarms the one before it: at each moment one is armed.
struct pool_with_timers : pool {
  policy::plain<bool> over{false};
};
template<mutant Mutant = mutant::none>
void timers_in_turn(execution& e) {
  auto const p = std::make_shared<pool_with_timers>();
  p->idle.arm(0);
  e.thread([p] {
    for (unsigned i = 0; i != 2; ++i) {
      if (Mutant == mutant::arms_late) p->idle.disarm(i);
      p->idle.arm(1 - i);
      if (Mutant != mutant::arms_late) p->idle.disarm(i);
    }
    p->over.set(true);
    p->idle.disarm(0);
    p->tell_of_timer();
  });
  e.thread([p] {
    p->wait<mutant::none>();
    EXPLORE_ASSERT(p->over.get());
  });
}

/// A thread waits for something else that changes, as for the last owned task.
void waiting_for_a_change(execution& e) {
  struct state : pool {
    policy::atomic<bool> done{false};
  };
  auto const p = std::make_shared<state>();
  e.thread([p] {
    p->done.store(true, std::memory_order_relaxed);
    p->idle.notify_all();
  });
  e.thread([p] {
    quiet::announcement const announced(p->idle);
    for (;;) {
      std::uint32_t const changes = p->idle.changes();
      if (p->done.load(std::memory_order_relaxed)) return;
      p->idle.sleep(changes);
    }
  });
}

tests const all{running<>,         moving<>,
                timer<>,           regression_timer_of_a_run<>,
                cancelled_timer<>, two_cancelled_timers,
                timers_in_turn<>,  waiting_for_a_change};

TEST(quiet_protocol, answers_after_everything_has_run_and_wakes) {
  expect_all_pass({.max_executions = 50'000, .random = 10'000}, all);
}
TEST(quiet_protocol, needs_every_step) {
  expect_all_fail({moving<mutant::moves_unseen>, running<mutant::takes_early>, timer<mutant::disarms_early>,
                   running<mutant::not_counted>, running<mutant::asks_early>, running<mutant::reads_late>,
                   cancelled_timer<mutant::silent_timer>, timers_in_turn<mutant::arms_late>,
                   regression_timer_of_a_run<mutant::timers_first>});
}
TEST(quiet_protocol, needs_every_order) {
  expect_every_weakening_fails(
      {.max_executions = 20'000, .weaken_in = "quiet.hpp"}, all,
      {// The explorer lets every sequentially consistent load see the newest such store: a thread that sees
       // the count sees the run without this pair. C++ does not promise that.
       "[release -> relaxed] began", "[acquire -> relaxed] holds",
       // The queues here order the taking of a task too; a LIFO slot does not.
       "[seq_cst -> acq_rel] in_transit: of_.moving_.fetch_add"});
}

} // namespace
