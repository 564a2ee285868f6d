// The routine's word together with the shards of timers under the explorer: however posts, deadlines, wakes,
// a signal and the pool's end meet, the routine is queued once at a time, runs on one thread, receives its
// signal, and is not touched after that. What each rule of docs/design/routines.md is for is shown by
// breaking it.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/routine/routine_state.hpp"
#include "timer/timer_shards.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

namespace {

using rubato::detail::clock_ns;
using rubato::detail::never_ns;
using rubato::detail::routine_flag;
using namespace rubato_test;

constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;
constexpr clock_ns now = clock_ns{1} << 20;

enum class mutant : unsigned char {
  none,
  fires_unlocked,
  arms_late,
  pushes_first,
  posts_at_once,
  loses_signal
};

template<mutant M>
struct machine {
  struct routine final : rubato::detail::timer {
    machine& in;
    rubato::detail::basic_routine_state<policy> state;
    policy::plain<int> data{0}; // of the thread that has the routine
    int waits;
    explicit routine(machine& m, int w)
        : in(m)
        , waits(w) {
      due = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(now));
    }
    bool claim() noexcept override {
      return M == mutant::fires_unlocked || state.raise(routine_flag::expired);
    }
    void fire() noexcept override {
      if (M == mutant::fires_unlocked && !state.raise(routine_flag::expired)) return;
      in.push();
    }
  };
  std::unique_ptr<frame<routine>> object;
  rubato::detail::basic_timer_shards<policy, 1> timers;
  policy::atomic<int> queue{0};
  policy::atomic<bool> received{false};
  policy::plain<int> message{0}; // of the waker, and then the sender
  bool const timed;

  machine(int waits, bool t)
      : object(std::make_unique<frame<routine>>(*this, waits))
      , timed(t) {
    EXPLORE_ASSERT(it().state.begin_post());
    it().state.queue(false);
    push();
  }
  routine& it() { return **object; }
  void push() { EXPLORE_ASSERT(queue.exchange(1, release) == 0); }
  /// As routine::leave_queued().
  void go_on(routine& r) {
    if (M == mutant::pushes_first) push();
    static_cast<void>(timers.disarm(r));
    if (M != mutant::pushes_first) push();
  }
  void arm(routine& r) {
    EXPLORE_ASSERT(!rubato::detail::timer_wheel::is_linked(r));
    timers.arm(r, 0, [](clock_ns) {});
  }
  /// As routine::place().
  void wait(routine& r) {
    EXPLORE_ASSERT(r.state.is_running());
    r.state.clear_expired();
    r.data.set(r.data.get() + 1);
    if (timed && M != mutant::arms_late) arm(r);
    bool const waits = r.state.wait();
    if (timed && M == mutant::arms_late) arm(r);
    if (!waits) go_on(r);
  }
  /// The callback deletes the routine when it receives the signal.
  void run(routine& r) {
    EXPLORE_ASSERT(!r.state.is_running() && !r.state.is_idle());
    r.state.start();
    r.data.set(r.data.get() + 1);
    if (r.state.receive()) {
      EXPLORE_ASSERT(message.get() != 0);
      object.reset();
      received.store(true, release);
      return;
    }
    if (M == mutant::posts_at_once) {
      wait(r);
      r.data.set(r.data.get() + 1); // the rest of the callback
    } else {
      wait(r);
    }
  }
  void work() {
    while (!received.load(acquire)) {
      int expected = 1;
      if (queue.compare_exchange_strong(expected, 0, acquire, std::memory_order_relaxed))
        run(it());
      else
        policy::pause();
    }
  }
  void fire() {
    static_cast<void>(timers.fire(1, now, never_ns, [](clock_ns) {}));
  }
  void raise(routine_flag f) {
    routine& r = it();
    if (M == mutant::loses_signal && r.state.is_running()) return;
    if (r.state.raise(f)) go_on(r);
  }
};

/// A worker or two, the firer, and a thread that wakes and then signals.
template<mutant M, int Workers, bool Timed, bool Wakes>
void signalling(execution& e) {
  auto const m = std::make_shared<machine<M>>(0, Timed);
  for (int i = 0; i != Workers; ++i) e.thread([m] { m->work(); });
  if (Timed) e.thread([m] { m->fire(); });
  e.thread([m] {
    if (Wakes) m->raise(routine_flag::woken);
    m->message.set(1);
    m->raise(routine_flag::signalled);
  });
}

/// What is written before a wake is seen by the run that follows, also if the flag was up already.
void waking(execution& e) {
  struct shared {
    rubato::detail::basic_routine_state<policy> state;
    policy::atomic<int> written{0}, queue{0};
    void push() { EXPLORE_ASSERT(queue.exchange(1, release) == 0); }
    void wake() {
      if (state.raise(routine_flag::woken)) push();
    }
  };
  auto const s = std::make_shared<shared>();
  EXPLORE_ASSERT(s->state.begin_post());
  EXPLORE_ASSERT(s->state.wait());
  e.thread([s] { s->wake(); });
  e.thread([s] {
    s->written.store(1, std::memory_order_relaxed);
    s->wake();
  });
  e.thread([s] {
    for (bool seen = false; !seen;) {
      int expected = 1;
      if (!s->queue.compare_exchange_strong(expected, 0, acquire, std::memory_order_relaxed)) {
        policy::pause();
        continue;
      }
      s->state.start();
      seen = s->written.load(std::memory_order_relaxed) != 0;
      if (!s->state.wait()) s->push();
    }
  });
}

/// The pool's end takes a routine that a thread wakes: it is let go, or queued.
void dropping(execution& e) {
  struct shared {
    frame<rubato::detail::basic_routine_state<policy>> state;
    policy::plain<int> field{0};
    policy::atomic<int> pushed{0};
  };
  auto const s = std::make_shared<shared>();
  e.thread([s] { // posts it
    EXPLORE_ASSERT(s->state->begin_post());
    s->field.set(1);
    if (!s->state->wait()) s->pushed.store(1, release);
  });
  e.thread([s] {
    if (s->state->raise(routine_flag::woken)) {
      s->field.set(s->field.get() + 1);
      s->pushed.store(1, release);
    }
  });
  e.thread([s] {
    if (s->state->take()) {
      s->field.set(s->field.get() + 1);
      s->state->finish();
    }
  });
  e.finally([s] {
    if (s->pushed.load(acquire) != 0) s->state->finish();
    if (s->state->is_idle()) EXPLORE_ASSERT(s->state->begin_post());
  });
}

/// The owner destroys it once it is idle: its last run is over, or it was dropped.
template<bool Dropped>
void ending(execution& e) {
  struct shared {
    std::unique_ptr<frame<rubato::detail::basic_routine_state<policy>>> state =
        std::make_unique<frame<rubato::detail::basic_routine_state<policy>>>();
    policy::plain<int> field{0};
  };
  auto const s = std::make_shared<shared>();
  auto& state = **s->state;
  EXPLORE_ASSERT(state.begin_post());
  state.queue(true);
  EXPLORE_ASSERT(state.has_expired());
  e.thread([s, &state] {
    s->field.set(1);
    if (Dropped) return state.finish();
    state.start();
    state.finish();
  });
  e.thread([s, &state] {
    while (!state.is_idle()) policy::pause();
    s->field.set(2);
    s->state.reset();
  });
}

/// The owner knows that the last callback is over, and destroys the routine as the destructor does: it waits
/// for the thread that is still in the last steps of the run, and does not take that for a posted routine.
void destroying(execution& e) {
  struct shared {
    std::unique_ptr<frame<rubato::detail::basic_routine_state<policy>>> state =
        std::make_unique<frame<rubato::detail::basic_routine_state<policy>>>();
    policy::atomic<bool> over{false};
  };
  auto const s = std::make_shared<shared>();
  auto& state = **s->state;
  EXPLORE_ASSERT(state.begin_post());
  e.thread([s, &state] {
    state.start();
    state.queue(false); // a post in the callback, done after it
    state.start();
    s->over.store(true, release);
    state.finish();
  });
  e.thread([s, &state] {
    while (!s->over.load(acquire)) policy::pause();
    while (!state.is_idle()) {
      EXPLORE_ASSERT(state.is_running());
      policy::pause();
    }
    s->state.reset();
  });
}

/// The pool lets go of a routine that waits, and counts it off; its owner destroys it once the pool has
/// ended, as the destructor does.
template<bool CountsFirst>
void regression_letting_go(execution& e) {
  struct shared {
    std::unique_ptr<frame<rubato::detail::basic_routine_state<policy>>> state =
        std::make_unique<frame<rubato::detail::basic_routine_state<policy>>>();
    policy::atomic<int> listed{1};
  };
  auto const s = std::make_shared<shared>();
  auto& state = **s->state;
  EXPLORE_ASSERT(state.begin_post() && state.wait());
  e.thread([s, &state] { // as routine::end_wait()
    EXPLORE_ASSERT(state.take());
    if (CountsFirst) s->listed.store(0, release);
    state.finish();
    if (!CountsFirst) s->listed.store(0, release);
  });
  e.thread([s, &state] {
    while (s->listed.load(acquire) != 0) policy::pause();
    EXPLORE_ASSERT(state.is_idle());
    s->state.reset();
  });
}

/// What is written before a signal is seen by the run that follows, also if that does not receive it.
void regression_seeing_a_signal(execution& e) {
  struct shared {
    rubato::detail::basic_routine_state<policy> state;
    policy::atomic<int> written{0}, queue{0};
  };
  auto const s = std::make_shared<shared>();
  EXPLORE_ASSERT(s->state.begin_post());
  e.thread([s] {
    s->state.start();
    if (s->state.wait())
      while (s->queue.load(acquire) == 0) policy::pause();
    s->state.start();
    EXPLORE_ASSERT(s->written.load(std::memory_order_relaxed) == 1);
  });
  e.thread([s] {
    s->written.store(1, std::memory_order_relaxed);
    if (s->state.raise(routine_flag::signalled)) s->queue.store(1, release);
  });
}

/// Posted anew by another thread as soon as it is idle.
template<bool Dropped>
void posting_again(execution& e) {
  struct shared {
    rubato::detail::basic_routine_state<policy> state;
    policy::plain<int> field{0};
  };
  auto const s = std::make_shared<shared>();
  EXPLORE_ASSERT(s->state.begin_post());
  s->state.queue(false);
  e.thread([s] {
    s->field.set(1);
    if (Dropped) return s->state.finish();
    s->state.start();
    s->state.finish();
  });
  e.thread([s] {
    while (!s->state.begin_post()) policy::pause();
    s->field.set(2);
  });
}

template<mutant M>
test const whole = signalling<M, 2, true, true>;

tests const all{signalling<mutant::none, 1, true, false>,
                signalling<mutant::none, 1, false, true>,
                signalling<mutant::none, 2, true, false>,
                signalling<mutant::none, 1, true, true>,
                signalling<mutant::none, 2, false, false>,
                waking,
                dropping,
                ending<false>,
                ending<true>,
                destroying,
                regression_letting_go<false>,
                regression_seeing_a_signal,
                posting_again<false>,
                posting_again<true>};

TEST(routine_protocol, runs_once_at_a_time_and_receives_its_signal) {
  expect_all_pass({.max_executions = 30'000, .random = 5'000}, all);
  result const r = run({.random = 20'000}, whole<mutant::none>);
  EXPECT_TRUE(r.ok) << r.message;
}
TEST(routine_protocol, needs_every_rule) {
  expect_all_fail({whole<mutant::fires_unlocked>, whole<mutant::arms_late>, whole<mutant::pushes_first>,
                   whole<mutant::posts_at_once>, whole<mutant::loses_signal>, regression_letting_go<true>});
}
TEST(routine_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 10'000, .weaken_in = "routine_state.hpp"}, all);
}

} // namespace
