// The shards of timers under the explorer: a timer that is due fires, however its arming meets the firer on
// its way to sleep; it fires once, or is disarmed.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "timer/timer_shards.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>

namespace {

using rubato::detail::clock_ns;
using rubato::detail::never_ns;
using namespace rubato_test;

constexpr clock_ns now = clock_ns{1} << 20; // time stands still
constexpr unsigned shards = 2;

struct state {
  struct stub final : rubato::detail::timer {
    state& all;
    policy::plain<int> touched{0};
    explicit stub(state& s)
        : all(s) {}
    void fire() noexcept override {
      EXPLORE_ASSERT(touched.get() == 0);
      touched.set(1);
      all.ended.fetch_add(1, std::memory_order_release);
    }
  };
  rubato::detail::basic_timer_shards<policy, shards> timers;
  policy::atomic<std::uint32_t> alarm{0};
  policy::atomic<int> ended{0};

  void ring() {
    alarm.fetch_add(1, std::memory_order_release);
    policy::futex_wake(alarm, 1);
  }
  void arm(stub& t, unsigned shard, clock_ns due) {
    t.due = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(due));
    timers.arm(t, shard, [this](clock_ns) { ring(); });
  }
  /// The firer, as the monitor: until so many timers have ended.
  void fire_all(int total) {
    for (;;) {
      std::uint32_t const then = alarm.load(std::memory_order_acquire);
      clock_ns const next = timers.fire(shards, now, never_ns, [](clock_ns) {});
      if (ended.load(std::memory_order_acquire) == total) return;
      if (next > now) policy::futex_wait(alarm, then);
    }
  }
};

/// Two threads arm, in one shard or in two, for deadlines that have passed.
template<unsigned Second>
void arming(execution& e) {
  auto const s = std::make_shared<state>();
  auto const a = std::make_shared<state::stub>(*s), b = std::make_shared<state::stub>(*s);
  e.thread([s, a] { s->arm(*a, 0, now - 5); });
  e.thread([s, b] { s->arm(*b, Second, now - 6); });
  e.thread([s] { s->fire_all(2); });
}

/// One thread arms for later, then for a time that has passed; the firer may plan to come later.
void arming_earlier(execution& e) {
  auto const s = std::make_shared<state>();
  auto const later = std::make_shared<state::stub>(*s), first = std::make_shared<state::stub>(*s),
             second = std::make_shared<state::stub>(*s);
  s->arm(*later, 0, now + 1'000);
  e.thread([s, first] { s->arm(*first, 0, now - 1); });
  e.thread([s, second] { s->arm(*second, 1, now); });
  e.thread([s] { s->fire_all(2); });
  e.finally([s, later] { EXPLORE_ASSERT(s->timers.disarm(*later)); });
}

/// A thread disarms what the firer may be about to fire, and ends it if that succeeds.
void disarming(execution& e) {
  struct object {
    state s;
    std::unique_ptr<frame<state::stub>> t = std::make_unique<frame<state::stub>>(s);
  };
  auto const o = std::make_shared<object>();
  o->s.arm(**o->t, 0, now);
  e.thread([o] {
    if (!o->s.timers.disarm(**o->t)) return;
    o->t.reset();
    o->s.ended.fetch_add(1, std::memory_order_release);
    o->s.ring();
  });
  e.thread([o] { o->s.fire_all(1); });
}

/// The pool of the timers ends while one is armed, one is about to fire and one is disarmed: as
/// timed_task::begin() and lifecycle::ask_owned_tasks(). Each ends once. `Looks`: the armer asks afterwards
/// whether the pool ends.
template<bool Looks = true>
void calling_off(execution& e) {
  struct world : state {
    stub late{*this}, due{*this}, disarmed{*this};
    policy::atomic<bool> ending{false};
    void end(rubato::detail::timer& t) { static_cast<stub&>(t).fire(); }
  };
  auto const w = std::make_shared<world>();
  w->arm(w->due, 0, now);
  w->arm(w->disarmed, 1, now + 2'000);
  e.thread([w] {
    w->arm(w->late, 0, now + 1'000);
    // relaxed: the lock orders it.
    if (Looks && w->ending.load(std::memory_order_relaxed) && w->timers.disarm(w->late)) w->end(w->late);
  });
  e.thread([w] {
    w->ending.store(true, std::memory_order_relaxed);
    w->timers.take_out(
        shards, [](rubato::detail::timer const&) { return true; },
        [w](rubato::detail::timer& t) { w->end(t); });
  });
  e.thread([w] {
    if (w->timers.disarm(w->disarmed)) w->end(w->disarmed);
    static_cast<void>(w->timers.fire(shards, now, never_ns, [](clock_ns) {}));
  });
  e.finally([w] { EXPLORE_ASSERT(w->ended.load(std::memory_order_relaxed) == 3); });
}

/// Two threads fire.
void two_firers(execution& e) {
  auto const s = std::make_shared<state>();
  auto const a = std::make_shared<state::stub>(*s);
  e.thread([s, a] { s->arm(*a, 0, now); });
  e.thread([s] {
    static_cast<void>(s->timers.fire(shards, now, never_ns, [s](clock_ns) { s->ring(); }));
    s->ring(); // the timer may have ended here
  });
  e.thread([s] { s->fire_all(1); });
}

/// The firer comes by itself at `latest`, and is woken only for an earlier timer.
void planned(execution& e) {
  auto const s = std::make_shared<state>();
  auto const a = std::make_shared<state::stub>(*s);
  EXPLORE_ASSERT(s->timers.fire(shards, now, now + 100, [](clock_ns) {}) == now + 100);
  s->arm(*a, 0, now + 200);
  EXPLORE_ASSERT(s->alarm.load(std::memory_order_relaxed) == 0);
  EXPLORE_ASSERT(s->timers.disarm(*a) && !s->timers.disarm(*a));
  s->arm(*a, 1, now + 50);
  EXPLORE_ASSERT(s->alarm.load(std::memory_order_relaxed) == 1);
  e.thread([s, a] { EXPLORE_ASSERT(s->timers.disarm(*a)); });
}

/// The monitor fires while the reactor starts, which fires from then on: as fire_without_reactor() and
/// set_timer_alarm() in monitor.cpp, and start() in reactor.cpp. The alarm for a timer that is armed
/// meanwhile is the reactor's in the end.
template<bool AsksAgain = true>
void handover(execution& e) {
  struct world : state {
    stub later{*this};
    policy::atomic<bool> installed{false};
    policy::plain<clock_ns> reactors_alarm{never_ns}; // set under the lock that set_alarm() is called under
    void set_alarm(clock_ns due) {
      if (installed.load(std::memory_order_seq_cst))
        reactors_alarm.set(due);
      else
        ring();
    }
    void fire_and_set_alarm() {
      static_cast<void>(timers.fire(shards, now, never_ns, [this](clock_ns due) { set_alarm(due); }));
    }
  };
  auto const w = std::make_shared<world>();
  e.thread([w] {
    w->later.due = std::chrono::steady_clock::time_point(std::chrono::nanoseconds(now + 100));
    w->timers.arm(w->later, 0, [&](clock_ns due) { w->set_alarm(due); });
  });
  e.thread([w] {
    if (w->installed.load(std::memory_order_seq_cst)) return;
    static_cast<void>(w->timers.fire(shards, now, never_ns, [](clock_ns) {}));
    if (AsksAgain && w->installed.load(std::memory_order_seq_cst)) w->fire_and_set_alarm();
  });
  e.thread([w] {
    w->installed.store(true, std::memory_order_seq_cst);
    w->fire_and_set_alarm();
  });
  e.finally([w] {
    EXPLORE_ASSERT(w->reactors_alarm.get() == now + 100);
    EXPLORE_ASSERT(w->timers.disarm(w->later));
  });
}

tests const all{arming<0>,     arming<1>,  arming_earlier, disarming,
                calling_off<>, two_firers, planned,        handover<>};

TEST(shards_protocol, fires_what_is_due) {
  expect_all_pass({.max_executions = 50'000, .random = 5'000}, all);
}
TEST(shards_protocol, would_forget_a_deadline_without_another_look) {
  EXPECT_FALSE(run({.max_executions = 50'000}, handover<false>).ok);
}
TEST(shards_protocol, would_leave_a_timer_to_an_ended_pool) {
  options const few{.preemptions = 1, .stale = 0, .spurious = 0};
  EXPECT_FALSE(run(few, calling_off<false>).ok);
  EXPECT_TRUE(run(few, calling_off<>).exhausted);
}
TEST(shards_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "timer_shards.hpp"}, all);
}

} // namespace
