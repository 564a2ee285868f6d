// The parker under the explorer: a wake is never lost, and brings what was done before it.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "sync/parker.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace {

using namespace rubato_test;
using parker = rubato::detail::basic_parker<policy>;

constexpr auto relaxed = std::memory_order_relaxed;

/// One wake, before, during or after the way to sleep.
void once(execution& e) {
  struct state {
    parker p;
    policy::plain<int> data{0};
  };
  auto const s = std::make_shared<state>();
  e.thread([s] {
    s->p.park();
    EXPLORE_ASSERT(s->data.get() == 1);
  });
  e.thread([s] {
    s->data.set(1);
    s->p.unpark();
  });
}

/// Two wakers, whose wakes may become one: the sleeper has then seen what both have done.
void two_wakers(execution& e) {
  struct state {
    parker p;
    policy::atomic<bool> first{false}, second{false};
  };
  auto const s = std::make_shared<state>();
  e.thread([s] {
    while (!s->first.load(relaxed) || !s->second.load(relaxed)) s->p.park();
  });
  for (auto const flag : {&state::first, &state::second})
    e.thread([s, flag] {
      ((*s).*flag).store(true, relaxed);
      s->p.unpark();
    });
}

/// The same thread sleeps again and again; wakes that come late only cost another look.
void twice(execution& e) {
  struct state {
    parker p;
    policy::atomic<int> turn{0};
    int seen = 0;
  };
  auto const s = std::make_shared<state>();
  e.thread([s] {
    for (int i = 1; i != 3; ++i)
      while (s->turn.load(relaxed) < i) {
        s->p.park();
        ++s->seen;
      }
    EXPLORE_ASSERT(s->seen <= 3);
  });
  e.thread([s] {
    for (int i = 1; i != 3; ++i) {
      s->turn.store(i, relaxed);
      s->p.unpark();
    }
  });
}

/// How parking must not be done: the word is looked at, and then written without asking what it has become.
void without_a_recheck(execution& e) {
  struct state {
    policy::atomic<std::uint32_t> word{0};
  };
  auto const s = std::make_shared<state>();
  e.thread([s] {
    if (s->word.load() == 1) return;
    s->word.store(2);
    while (s->word.load() == 2) policy::futex_wait(s->word, 2);
  });
  e.thread([s] {
    if (s->word.exchange(1) == 2) policy::futex_wake(s->word, 1);
  });
}

TEST(parker_protocol, loses_no_wake) {
  for (test const& t : {test(once), test(two_wakers), test(twice)}) {
    result const r = run({.preemptions = 3, .max_executions = 300'000}, t);
    EXPECT_TRUE(r.ok && r.exhausted) << r.message;
  }
}
TEST(parker_protocol, would_lose_one_without_looking_again) {
  EXPECT_EQ(run({}, without_a_recheck).what, verdict::deadlock);
}
TEST(parker_protocol, needs_every_order) {
  expect_every_weakening_fails({.preemptions = 3, .max_executions = 20'000}, {once, two_wakers, twice},
                               {// The exchange at the end of park() acquires the same wake or a later one.
                                "[failure acquire -> relaxed] park", "[acquire -> relaxed] park: if",
                                "[acquire -> relaxed] park: while",
                                // A wake that replaces another belongs to the other's release sequence,
                                // because it is a read-modify-write.
                                "[acq_rel -> release] unpark"});
}

} // namespace
