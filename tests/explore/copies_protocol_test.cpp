// The copies of a race or a hedge under the explorer: one result counts, a copy that was withdrawn never
// begins, and the caller goes on when no copy uses its frame any more. docs/design/hedging.md
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/sync/copies.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>

namespace {

using rubato::detail::copy_phase;
using namespace rubato_test;
using shipped = rubato::detail::basic_copies<policy>;

/// What the caller of a race lends to the copies.
struct borrowed {
  policy::plain<int> calls[3];
};

/// A call of up to three copies. A race ends when no copy is inside, a hedge with the decision.
template<class Copies>
struct call {
  Copies protocol;
  bool const joins;
  borrowed* frame = nullptr;
  policy::plain<int> slots[3];
  typename Copies::phase phases[3];
  policy::atomic<int> over{0}, completions{0};
  policy::atomic<int> withdrawn{0};

  call(std::uint32_t admitted, bool joins_losers)
      : protocol(admitted)
      , joins(joins_losers)
      , phases{{copy_phase::waiting},
               {admitted > 1 ? copy_phase::waiting : copy_phase::not_due},
               {admitted > 2 ? copy_phase::waiting : copy_phase::not_due}} {}

  void complete() {
    EXPLORE_ASSERT(completions.fetch_add(1, std::memory_order_relaxed) == 0);
    over.store(1, std::memory_order_release); // as the completion of a state does
  }
  void settle(typename Copies::change c) {
    bool last = c.last;
    if (c.decided) {
      for (std::uint32_t i = 0; i != 3; ++i) {
        typename Copies::change const w = protocol.withdraw(i, phases[i]);
        EXPLORE_ASSERT(!w.decided);
        last = last || w.last;
      }
      if (!joins) complete();
    }
    if (last && joins) complete();
  }
  /// By the thread that was sent to the copy.
  void run(std::uint32_t i, bool succeeds) {
    auto const s = protocol.begin(phases[i]);
    if (s == Copies::start::none) {
      withdrawn.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (s == Copies::start::run && frame != nullptr) frame->calls[i].set(1);
    if (s == Copies::start::run && succeeds) slots[i].set(static_cast<int>(i) + 1);
    settle(protocol.end(i, s == Copies::start::run && succeeds));
  }
  void run_when_due(std::uint32_t i, bool succeeds) {
    if (!protocol.admit()) return;
    phases[i].store(copy_phase::waiting, std::memory_order_relaxed);
    run(i, succeeds);
  }
  void stop() { settle(protocol.stop()); }
  /// The number of the winner, or -1.
  int await() {
    while (over.load(std::memory_order_acquire) == 0) policy::pause();
    std::uint32_t const d = protocol.decision();
    EXPLORE_ASSERT(d != Copies::open);
    if (d < Copies::first_winner) return -1;
    EXPLORE_ASSERT(slots[d - Copies::first_winner].get() == static_cast<int>(d - Copies::first_winner) + 1);
    return static_cast<int>(d - Copies::first_winner);
  }
};

/// A race of two, whose caller runs the first copy and lends its frame.
template<class Copies>
void race(execution& e, bool first, bool second, bool stops) {
  auto const c = std::make_shared<call<Copies>>(2, true);
  auto const begun = std::make_shared<policy::atomic<int>>(0);
  e.thread([=] {
    frame<borrowed> const mine;
    c->frame = mine.get();
    begun->store(1, std::memory_order_release);
    c->run(0, first);
    int const winner = c->await();
    if (!stops) EXPLORE_ASSERT((winner == -1) == (!first && !second));
    if (winner >= 0) EXPLORE_ASSERT(winner == 0 ? first : second);
  });
  e.thread([=] {
    while (begun->load(std::memory_order_acquire) == 0) policy::pause();
    c->run(1, second);
  });
  if (stops) e.thread([=] { c->stop(); });
  e.finally([=] { EXPLORE_ASSERT(c->protocol.inside() == 0 && c->completions.load() == 1); });
}

template<class Copies>
void both_win(execution& e) {
  race<Copies>(e, true, true, false);
}
template<class Copies>
void one_fails(execution& e) {
  race<Copies>(e, false, true, false);
}
template<class Copies>
void all_fail(execution& e) {
  race<Copies>(e, false, false, false);
}
template<class Copies>
void a_stop_comes(execution& e) {
  race<Copies>(e, true, true, true);
}
template<class Copies>
void a_stop_comes_beside_a_failure(execution& e) {
  race<Copies>(e, false, true, true);
}

/// A hedge of three, whose last copy is delayed: the caller only waits.
template<class Copies>
void hedge(execution& e) {
  auto const c = std::make_shared<call<Copies>>(2, false);
  e.thread([=] { c->run(0, false); });
  e.thread([=] { c->run(1, true); });
  e.thread([=] { c->run_when_due(2, true); });
  e.thread([=] { EXPLORE_ASSERT(c->await() > 0); });
  e.finally([=] { EXPLORE_ASSERT(c->protocol.inside() == 0 && c->completions.load() == 1); });
}
/// A delayed copy is admitted while the only other one fails, in a race.
template<class Copies>
void late_admission(execution& e) {
  auto const c = std::make_shared<call<Copies>>(1, true);
  auto const armed = std::make_shared<policy::atomic<int>>(0);
  e.thread([=] {
    frame<borrowed> const mine;
    c->frame = mine.get();
    armed->store(1, std::memory_order_release);
    c->run(0, false);
    int const winner = c->await();
    EXPLORE_ASSERT(winner == -1 || winner == 1);
  });
  e.thread([=] {
    while (armed->load(std::memory_order_acquire) == 0) policy::pause();
    c->run_when_due(1, true);
  });
  e.thread([=] { c->stop(); });
  e.finally([=] { EXPLORE_ASSERT(c->protocol.inside() == 0 && c->completions.load() == 1); });
}

/// The winner of a hedge stays the winner when the other copy ends.
template<class Copies>
void reads_once_more(execution& e) {
  auto const c = std::make_shared<call<Copies>>(2, false);
  e.thread([=] { c->run(0, true); });
  e.thread([=] { c->run(1, true); });
  e.thread([=] {
    int const winner = c->await();
    EXPLORE_ASSERT(c->await() == winner);
  });
  e.finally([=] { EXPLORE_ASSERT(c->protocol.inside() == 0); });
}

test const all[] = {both_win<shipped>,
                    one_fails<shipped>,
                    all_fail<shipped>,
                    a_stop_comes<shipped>,
                    a_stop_comes_beside_a_failure<shipped>,
                    hedge<shipped>,
                    reads_once_more<shipped>,
                    late_admission<shipped>};

/// Decides without a look whether the call is open.
struct overwrites_the_decision : shipped {
  using shipped::shipped;
  policy::atomic<int> winner{-1};
  change end(std::uint32_t i, bool has_value) {
    if (has_value) winner.store(static_cast<int>(i), std::memory_order_seq_cst);
    return shipped::end(i, has_value);
  }
  std::uint32_t decision() {
    int const w = winner.load(std::memory_order_seq_cst);
    return w < 0 ? shipped::decision() : first_winner + static_cast<std::uint32_t>(w);
  }
};
/// Withdraws a copy without taking the right to run it.
struct only_looks : shipped {
  using shipped::shipped;
  change withdraw(std::uint32_t i, phase& p) {
    if (p.load(std::memory_order_seq_cst) != copy_phase::waiting) return {};
    return shipped::end(i, false);
  }
};
/// Looks whether the call is open, and enters in a second step.
struct enters_blindly : shipped {
  using shipped::shipped;
  policy::atomic<int> late{0};
  bool admit() {
    if (is_decided()) return false;
    late.fetch_add(1, std::memory_order_seq_cst);
    return true; // and is not counted
  }
};

TEST(copies_protocol, lets_one_result_count) {
  for (test const& t : all) {
    result const r = run({.max_executions = 200'000}, t);
    EXPECT_TRUE(r.ok) << r.message;
  }
}
TEST(copies_protocol, lets_one_result_count_at_random) {
  for (test const& t : all) {
    result const r = run({.random = 10'000}, t);
    EXPECT_TRUE(r.ok) << r.message;
  }
}
TEST(copies_protocol, would_let_two_win_without_the_test_for_open) {
  EXPECT_FALSE(run({}, reads_once_more<overwrites_the_decision>).ok);
}
TEST(copies_protocol, would_run_a_withdrawn_copy_in_its_old_phase) {
  EXPECT_FALSE(run({}, both_win<only_looks>).ok);
}
TEST(copies_protocol, would_lose_an_uncounted_delayed_copy) {
  EXPECT_FALSE(run({}, late_admission<enters_blindly>).ok);
}
TEST(copies_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "copies.hpp"},
                               {std::begin(all), std::end(all)});
}

} // namespace
