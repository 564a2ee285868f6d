// Races under the explorer: one member takes effect, two races that meet on two objects at once do not block
// each other, and no giver looks at a race that is gone. docs/design/races.md
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/sync/permits.hpp"
#include "rubato/detail/sync/race.hpp"
#include "rubato/detail/sync/wait_list.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace {

using namespace rubato_test;
using race = rubato::detail::basic_race<policy>;
using claim = rubato::detail::basic_claim<policy>;
using entry = rubato::detail::basic_race_entry<policy>;
using list = rubato::detail::basic_wait_list<policy>;
using node = rubato::detail::basic_wait_node<policy>;
using chain = rubato::detail::basic_wait_chain<policy>;
using mutex = rubato::detail::basic_mutex<policy>;

/// The steps that a mutant leaves out, one at a time: the explorer must find each.
enum class mutant { none, no_claim, leaves_without_lock, no_own_claim, takes_first, looks_first };

/// A race, and how its owner sleeps.
struct party : race {
  policy::atomic<int> told{0};
  policy::plain<int> got{0}; // values, or answers; by the party that has claimed it
};

struct thread_context : node {
  party* of = nullptr;
};

/// A rendezvous channel of nothing: each of its operations needs one of the other kind.
template<mutant Mutant>
struct object {
  mutex lock;
  list waiting[2]; // senders, receivers

  enum class outcome { done, waits, lost };
  outcome meet(int kind, thread_context& own) {
    party* told = nullptr;
    {
      std::lock_guard const guard(lock);
      list& others = waiting[1 - kind];
      for (node* n = others.front(); n != nullptr;) {
        claim c(Mutant == mutant::no_own_claim ? entry() : own.entry(),
                Mutant == mutant::no_claim ? entry() : n->entry());
        if (c.is_open()) {
          c.decide();
          others.take(*n);
          told = static_cast<thread_context*>(n)->of;
          told->got.set(told->got.get() + 1);
          break;
        }
        if (c.state() == claim::found::own_decided) return outcome::lost;
        n = c.state() == claim::found::same_race ? list::after(*n) : others.lose(*n);
      }
      if (told == nullptr) {
        waiting[kind].push(own);
        return outcome::waits;
      }
    }
    told->told.store(1, std::memory_order_release); // as end_wait() does, and last
    return outcome::done;
  }
  void leave(int kind, thread_context& own) {
    if constexpr (Mutant != mutant::leaves_without_lock) {
      std::lock_guard const guard(lock);
      static_cast<void>(waiting[kind].remove(own));
    } else {
      static_cast<void>(waiting[kind].remove(own));
    }
  }
};

template<mutant Mutant>
struct world {
  using thing = object<Mutant>;
  thing x, y;
  policy::atomic<int> met{0};

  struct step {
    thing* where;
    int kind;
  };
  /// The owner of a race of two. False: it was stopped.
  bool run(step first, step second, bool stops) {
    frame<party> const p;
    frame<thread_context> const m[2];
    step const steps[] = {first, second};
    std::uint32_t entered = 0;
    bool here = false;
    for (; entered != 2; ++entered) {
      thread_context& own = *m[entered];
      own.of = p.get();
      own.enter(*p, entered);
      auto const o = steps[entered].where->meet(steps[entered].kind, own);
      if (o == thing::outcome::waits) continue;
      here = o == thing::outcome::done;
      if (here) {
        if (Mutant == mutant::no_own_claim) static_cast<void>(p->claim(entered));
        p->got.set(p->got.get() + 1);
      }
      break;
    }
    bool stopped = false;
    if (!here) {
      stopped = stops && p->claim(race::stopped);
      while (!stopped && p->told.load(std::memory_order_acquire) == 0) policy::pause();
    }
    while (entered-- != 0)
      if (entered != p->winner()) steps[entered].where->leave(steps[entered].kind, *m[entered]);
    EXPLORE_ASSERT(p->got.get() == (stopped ? 0 : 1));
    if (!stopped) met.fetch_add(1, std::memory_order_relaxed);
    return !stopped;
  }
  /// A party in no race, which meets the one that waits, or goes away.
  bool try_to_meet(step s) {
    frame<thread_context> const m;
    frame<party> const p;
    m->of = p.get();
    auto const o = s.where->meet(s.kind, *m);
    if (o == thing::outcome::done) {
      met.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    {
      std::lock_guard const guard(s.where->lock);
      if (s.where->waiting[s.kind].remove(*m)) return false;
    }
    while (p->told.load(std::memory_order_acquire) == 0) policy::pause();
    met.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  void expect_empty() {
    for (thing* const t : {&x, &y})
      for (list& l : t->waiting) EXPLORE_ASSERT(l.empty());
  }
};

/// Two givers claim two members of one race at once.
template<mutant Mutant>
void two_givers(execution& e) {
  auto const w = std::make_shared<world<Mutant>>();
  auto const given = std::make_shared<policy::atomic<int>>(0);
  e.thread([w] { static_cast<void>(w->run({&w->x, 1}, {&w->y, 1}, true)); });
  for (auto* const where : {&w->x, &w->y})
    e.thread([w, given, where] { given->fetch_add(w->try_to_meet({where, 0}) ? 1 : 0); });
  e.finally([w, given] {
    EXPLORE_ASSERT(w->met.load() == 2 * given->load() && given->load() <= 1);
    w->expect_empty();
  });
}
/// Two races meet on two objects, in opposite roles and orders. Both end with one exchange.
template<mutant Mutant>
void two_races(execution& e) {
  auto const w = std::make_shared<world<Mutant>>();
  e.thread([w] { static_cast<void>(w->run({&w->x, 0}, {&w->y, 1}, false)); });
  e.thread([w] { static_cast<void>(w->run({&w->y, 0}, {&w->x, 1}, false)); });
  e.finally([w] {
    EXPLORE_ASSERT(w->met.load() == 2);
    w->expect_empty();
  });
}
/// Three, of which one is stopped: an even number meets.
template<mutant Mutant>
void three_races(execution& e) {
  auto const w = std::make_shared<world<Mutant>>();
  e.thread([w] { static_cast<void>(w->run({&w->x, 0}, {&w->y, 1}, true)); });
  e.thread([w] { static_cast<void>(w->run({&w->y, 0}, {&w->x, 1}, true)); });
  e.thread([w] { static_cast<void>(w->run({&w->x, 1}, {&w->y, 0}, true)); });
  e.finally([w] {
    EXPLORE_ASSERT(w->met.load() % 2 == 0);
    w->expect_empty();
  });
}
/// Both members on one object: a race does not meet itself.
template<mutant Mutant>
void against_itself(execution& e) {
  auto const w = std::make_shared<world<Mutant>>();
  auto const given = std::make_shared<policy::atomic<int>>(0);
  e.thread([w] { static_cast<void>(w->run({&w->x, 0}, {&w->x, 1}, true)); });
  for (int const kind : {0, 1})
    e.thread([w, given, kind] { given->fetch_add(w->try_to_meet({&w->x, kind}) ? 1 : 0); });
  e.finally([w] {
    EXPLORE_ASSERT(w->met.load() % 2 == 0);
    w->expect_empty();
  });
}

// Operations that take effect in a call, beside one that waits in a list

/// What the kernel holds for one descriptor.
struct pipe {
  mutex lock;
  policy::plain<int> bytes{0};
  policy::atomic<int> events{0};

  void put() {
    {
      std::lock_guard const guard(lock);
      bytes.set(bytes.get() + 1);
    }
    events.store(1, std::memory_order_release);
  }
  bool take() {
    std::lock_guard const guard(lock);
    if (bytes.get() == 0) return false;
    bytes.set(bytes.get() - 1);
    return true;
  }
};

template<mutant Mutant>
struct world_of_calls : world<Mutant> {
  party race;
  pipe pipes[2];
  policy::atomic<int> stopped{0}, running{0}, taken{0}, given{0};

  /// False: the race is lost.
  bool attempt(pipe& from, entry own, bool& got) {
    if constexpr (Mutant == mutant::takes_first) {
      got = from.take();
      return !got || own.race->claim(own.index);
    } else if constexpr (Mutant == mutant::looks_first) {
      if (!claim(own).is_open()) return false;
      got = from.take();
      return !got || own.race->claim(own.index);
    } else {
      return rubato::detail::try_in_race(own, [&] { return got = from.take(); });
    }
  }
  /// An operation in a coroutine of its own: it tries, and again after an event, until it is asked to stop.
  void read(std::uint32_t index) {
    pipe& from = pipes[index];
    for (bool got = false; attempt(from, {&race, index}, got);) {
      if (got) {
        race.got.set(race.got.get() + 1);
        race.told.store(1, std::memory_order_release);
        break;
      }
      bool is_over = false;
      while (!is_over && from.events.load(std::memory_order_acquire) == 0) {
        is_over = stopped.load(std::memory_order_acquire) != 0;
        policy::pause();
      }
      if (is_over) break;
    }
    taken.fetch_add(race.is_claimed_by(index) ? 1 : 0, std::memory_order_relaxed);
    running.fetch_sub(1, std::memory_order_release);
  }
  /// The owner, which also waits at the object x.
  void wait_for_one() {
    constexpr std::uint32_t mine = 2;
    frame<thread_context> const m;
    m->of = &race;
    m->enter(race, mine);
    bool const listed = this->x.meet(1, *m) == object<Mutant>::outcome::waits;
    if (!listed && race.is_claimed_by(mine)) { // it has met the other one, or lost
      race.got.set(race.got.get() + 1);
      race.told.store(1, std::memory_order_release);
    }
    while (race.told.load(std::memory_order_acquire) == 0) policy::pause();
    stopped.store(1, std::memory_order_release);
    while (running.load(std::memory_order_acquire) != 0) policy::pause();
    if (listed && !race.is_claimed_by(mine)) this->x.leave(1, *m);
    EXPLORE_ASSERT(race.got.get() == 1);
  }
};

/// One operation has taken effect: what the others could have taken is still there.
template<mutant Mutant, int Pipes>
void of_calls(execution& e) {
  auto const w = std::make_shared<world_of_calls<Mutant>>();
  w->running.store(Pipes);
  e.thread([w] { w->wait_for_one(); });
  for (std::uint32_t i = 0; i != Pipes; ++i) e.thread([w, i] { w->read(i); });
  e.thread([w] {
    w->given.fetch_add(w->try_to_meet({&w->x, 0}) ? 1 : 0);
    for (int i = 0; i != Pipes; ++i) w->pipes[i].put();
  });
  e.finally([w] {
    EXPLORE_ASSERT(w->taken.load() + w->given.load() == 1);
    EXPLORE_ASSERT(w->pipes[0].bytes.get() + w->pipes[1].bytes.get() == Pipes - w->taken.load());
    w->expect_empty();
  });
}

// Permits

struct lock_waiter : node, rubato::detail::permit_demand {
  policy::atomic<int> told{0};
  using permit_demand::permit_demand;
};
using permits = rubato::detail::basic_permits<policy, lock_waiter>;
void tell(chain& c, policy::atomic<int>& raced) {
  while (node* const n = c.pop()) {
    if (n->entry().race != nullptr)
      raced.store(1, std::memory_order_release);
    else
      static_cast<lock_waiter*>(n)->told.store(1, std::memory_order_release);
  }
}
struct two_locks {
  permits all[2]{permits(0), permits(0)};
  policy::atomic<int> told{0}; // the race's
  policy::atomic<int> kept{0};

  void give(int which) {
    if (all[which].try_give(1, permits::most)) return;
    chain c;
    EXPLORE_ASSERT(all[which].give(1, permits::most, c));
    tell(c, told);
  }
  void leave(int which, lock_waiter& w) {
    chain c;
    static_cast<void>(all[which].remove(w, c));
    tell(c, told);
  }
  /// Waits for so many of the first kind, or one of the second.
  void take_either(bool stops, std::uint64_t of_first = 1) {
    frame<race> const r;
    frame<lock_waiter> const first(of_first);
    frame<lock_waiter> const second;
    lock_waiter* const m[2] = {&*first, &*second};
    std::uint32_t entered = 0;
    bool here = false;
    for (; entered != 2; ++entered) {
      m[entered]->enter(*r, entered);
      if (all[entered].add(*m[entered])) continue;
      here = r->is_claimed_by(entered);
      break;
    }
    bool stopped = false;
    if (!here) {
      stopped = stops && r->claim(race::stopped);
      while (!stopped && told.load(std::memory_order_acquire) == 0) policy::pause();
    }
    while (entered-- != 0)
      if (entered != r->winner()) leave(static_cast<int>(entered), *m[entered]);
    if (!stopped) kept.fetch_add(static_cast<int>(m[r->winner()]->needed()));
  }
  /// Waits for the first kind, in no race, and perhaps goes away.
  void take_first(bool leaves) {
    frame<lock_waiter> const w;
    if (!all[0].add(*w)) {
      kept.fetch_add(1);
      return;
    }
    if (leaves) {
      chain next;
      bool const left = all[0].remove(*w, next);
      tell(next, told);
      if (left) return;
    }
    for (;;) {
      while (w->told.load(std::memory_order_acquire) == 0) policy::pause();
      w->told.store(0, std::memory_order_relaxed);
      if (!w->was_called()) break;
      chain next;
      bool const got = all[0].retry(*w, next);
      tell(next, told);
      if (got) break;
    }
    kept.fetch_add(1);
  }
  void expect_free(int n) {
    for (permits& p : all)
      while (p.try_take()) --n;
    EXPLORE_ASSERT(n == 0);
  }
};

template<bool Stops, bool Leaves>
void of_permits(execution& e) {
  auto const s = std::make_shared<two_locks>();
  e.thread([s] { s->take_either(Stops); });
  e.thread([s] { s->take_first(Leaves); });
  e.thread([s] {
    s->give(0);
    s->give(1);
    s->give(0);
  });
  e.finally([s] { s->expect_free(3 - s->kept.load()); });
}
/// The member that needs two permits may hold one when it loses, which is for the waiter behind it.
template<bool Stops, bool Leaves>
void of_several_permits(execution& e) {
  auto const s = std::make_shared<two_locks>();
  e.thread([s] { s->take_either(Stops, 2); });
  e.thread([s] { s->take_first(Leaves); });
  e.thread([s] {
    s->give(0);
    s->give(1);
    s->give(0);
    s->give(0);
  });
  e.finally([s] { s->expect_free(4 - s->kept.load()); });
}
template<bool Stops>
void of_permits_given_at_once(execution& e) {
  auto const s = std::make_shared<two_locks>();
  e.thread([s] { s->take_either(Stops); });
  for (int const which : {0, 1}) e.thread([s, which] { s->give(which); });
  e.finally([s] { s->expect_free(2 - s->kept.load()); });
}

template<mutant Mutant>
tests const of_channels{two_givers<Mutant>,     two_races<Mutant>,   three_races<Mutant>,
                        against_itself<Mutant>, of_calls<Mutant, 1>, of_calls<Mutant, 2>};
tests const of_locks{of_permits<false, false>,        of_permits<true, false>,
                     of_permits<false, true>,         of_several_permits<false, false>,
                     of_several_permits<true, false>, of_several_permits<false, true>,
                     of_permits_given_at_once<false>, of_permits_given_at_once<true>};

TEST(race_protocol, lets_one_member_take_effect) {
  expect_all_pass({.max_executions = 50'000, .random = 10'000}, of_channels<mutant::none>);
}
TEST(race_protocol, loses_no_permit) {
  expect_all_pass({.max_executions = 50'000, .random = 10'000}, of_locks);
}
template<mutant Mutant>
void expect_found_out() {
  bool found = false;
  for (named_test const& t : of_channels<Mutant>) {
    found = found || !run({.max_executions = 50'000}, t.body).ok;
    found = found || !run({.random = 10'000}, t.body).ok;
  }
  EXPECT_TRUE(found);
}
TEST(race_protocol, needs_the_claim_before_the_hand_over) { expect_found_out<mutant::no_claim>(); }
TEST(race_protocol, needs_the_claim_of_the_own_race) { expect_found_out<mutant::no_own_claim>(); }
TEST(race_protocol, needs_the_claim_before_the_call) { expect_found_out<mutant::takes_first>(); }
TEST(race_protocol, needs_the_claim_during_the_call) { expect_found_out<mutant::looks_first>(); }
TEST(race_protocol, needs_its_owner_to_pass_through_the_locks) {
  expect_found_out<mutant::leaves_without_lock>();
}

} // namespace
