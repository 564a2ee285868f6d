// The state of a forked group under the explorer: the coroutine goes on once, when all members have ended;
// the first failure is stored once; each scope is built once, after the one around.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/sync/group_state.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>

namespace {

using namespace rubato_test;
using group_state = rubato::detail::basic_group_state<policy>;

/// What a member, the coroutine or a builder does in another order, or leaves out.
enum class mutant {
  none,
  counts_early,     ///< the member counts itself as ended, then writes its result
  notes_late,       ///< it counts itself as ended, then notes its failure
  waits_for_fewer,  ///< the coroutine forgets a member that a thief has taken
  never_waits,      ///< it goes on if not all have ended
  builds_from_here, ///< a scope is built before the one around
  builds_at_once    ///< without the bit that keeps other builders away
};

/// A coroutine that waits for members on other threads.
struct group {
  static constexpr int most = 3;
  group_state state;
  std::array<policy::plain<int>, most> results;
  policy::plain<int> error{0};
  policy::plain<int> wait_is_built{0};
  policy::atomic<int> stops{0};
  policy::atomic<std::uint32_t> ended_wait{0};

  template<mutant Mutant>
  void fail(int index) {
    if (!state.claim_failure(static_cast<std::uint32_t>(index))) return;
    error.set(1 + index);
    state.failure_is_stored();
    stops.fetch_add(1, std::memory_order_relaxed);
  }
  template<mutant Mutant>
  void run_member(int index, bool fails) {
    auto const write = [&] { results[static_cast<std::size_t>(index)].set(1); };
    if (Mutant != mutant::counts_early) write();
    if (fails && Mutant != mutant::notes_late) fail<Mutant>(index);
    bool const last = state.end_elsewhere();
    if (Mutant == mutant::counts_early) write();
    if (fails && Mutant == mutant::notes_late) fail<Mutant>(index);
    if (!last) return;
    EXPLORE_ASSERT(wait_is_built.get() == 1);
    ended_wait.store(1, std::memory_order_release);
  }
  /// Then the group's memory is reused.
  template<mutant Mutant>
  void wait(int elsewhere, int failures) {
    state.begin_wait();
    wait_is_built.set(1);
    if (state.wait_for(static_cast<std::uint32_t>(elsewhere - (Mutant == mutant::waits_for_fewer))))
      while (Mutant != mutant::never_waits && ended_wait.load(std::memory_order_acquire) == 0)
        policy::pause();
    for (int i = 0; i != elsewhere; ++i) EXPLORE_ASSERT(results[static_cast<std::size_t>(i)].get() == 1);
    EXPLORE_ASSERT(!state.is_plain());
    EXPLORE_ASSERT(state.has_failed() == (failures != 0));
    if (failures != 0) EXPLORE_ASSERT(error.get() != 0 && stops.load(std::memory_order_relaxed) == 1);
    for (auto& r : results) r.set(2);
    error.set(0);
  }
};

/// The first members fail.
template<int Elsewhere, int Failures, mutant Mutant = mutant::none>
void members(execution& e) {
  auto const g = std::make_shared<group>();
  for (int i = 0; i != Elsewhere; ++i) e.thread([g, i] { g->run_member<Mutant>(i, i < Failures); });
  e.thread([g] { g->wait<Mutant>(Elsewhere, Failures); });
}

/// Two groups, one in the other, whose scopes two threads want.
template<mutant Mutant = mutant::none>
void scopes(execution& e) {
  struct nest {
    std::array<group_state, 2> groups; // the outer one first
    std::array<policy::plain<int>, 2> built{};
    policy::atomic<int> times{0};

    void make(std::size_t i) {
      if (i != 0) EXPLORE_ASSERT(built[0].get() == 1); // it is linked to the one around
      built[i].set(1);
      times.fetch_add(1, std::memory_order_relaxed);
    }
    /// As forked_group::build_scope().
    void want(std::size_t wanted) {
      if (Mutant == mutant::builds_at_once) {
        for (std::size_t i = 0; i <= wanted; ++i)
          if (!groups[i].has_scope()) make(i);
        return;
      }
      std::size_t first = wanted + 1;
      while (first != 0 && groups[first - 1].begin_scope()) {
        --first;
        if (Mutant != mutant::builds_from_here) continue;
        make(first);
        groups[first].scope_is_built();
      }
      if (Mutant == mutant::builds_from_here) return;
      for (std::size_t i = first; i <= wanted; ++i) {
        make(i);
        groups[i].scope_is_built();
      }
    }
  };
  auto const n = std::make_shared<nest>();
  for (std::size_t wanted : {std::size_t{0}, std::size_t{1}})
    e.thread([n, wanted] {
      n->want(wanted);
      EXPLORE_ASSERT(n->built[wanted].get() == 1);
    });
  e.thread([n] {
    if (n->groups[1].has_scope()) EXPLORE_ASSERT(n->built[0].get() == 1 && n->built[1].get() == 1);
  });
  e.finally([n] { EXPLORE_ASSERT(n->times.load() == 2); });
}

tests const all{members<1, 0>, members<2, 0>, members<2, 1>, members<2, 2>, scopes<>};

TEST(group_state_protocol, ends_waits_and_builds_scopes_once) {
  expect_all_pass({.max_executions = 50'000, .random = 5'000}, all);
}
TEST(group_state_protocol, needs_every_step) {
  expect_all_fail({members<1, 0, mutant::counts_early>, members<1, 1, mutant::notes_late>,
                   members<2, 0, mutant::waits_for_fewer>, members<1, 0, mutant::never_waits>,
                   scopes<mutant::builds_from_here>, scopes<mutant::builds_at_once>});
}
TEST(group_state_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "group_state.hpp"}, all);
}

} // namespace
