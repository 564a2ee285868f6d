// Races with several winners under the explorer: no more members take effect than are wanted, each that has
// is among the winners, in order, and none that lost has. docs/design/races.md
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/sync/race.hpp"
#include "rubato/detail/sync/wait_list.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <mutex>

namespace {

using namespace rubato_test;
using race = rubato::detail::basic_race<policy>;
using winners = rubato::detail::basic_winners<policy>;
using claim = rubato::detail::basic_claim<policy>;
using entry = rubato::detail::basic_race_entry<policy>;
using list = rubato::detail::basic_wait_list<policy>;
using node = rubato::detail::basic_wait_node<policy>;
using mutex = rubato::detail::basic_mutex<policy>;

enum class mutant { none, no_claim, claims_later };

constexpr std::uint32_t members = 3;

/// Where values and one waiter meet. A value that meets none is kept.
struct object {
  mutex lock;
  list waiting;
  policy::plain<int> kept{0};
};

/// Each member waits in a coroutine of its own, whose wait the giver ends: so the race, in the frame around
/// them, lives until all have ended.
template<mutant Mutant>
struct world {
  object objects[members];
  winners::turn_type turns[members];
  winners several;
  race of;
  policy::atomic<int> told[members];
  policy::atomic<int> stopped{0}, taken{0};

  explicit world(std::uint32_t wanted)
      : several(turns, wanted)
      , of(&several) {}

  void give(std::uint32_t i) {
    bool tells = false;
    {
      std::lock_guard const guard(objects[i].lock);
      if (node* const n = objects[i].waiting.front()) {
        claim c({}, Mutant == mutant::none ? n->entry() : entry());
        if (c.is_open()) {
          c.decide();
          objects[i].waiting.take(*n);
          tells = true;
        } else {
          objects[i].waiting.lose(*n);
        }
      }
      if (!tells) objects[i].kept.set(objects[i].kept.get() + 1);
    }
    if (!tells) return;
    if (Mutant == mutant::claims_later) static_cast<void>(of.claim(i));
    told[i].store(1, std::memory_order_release);
  }
  void stop() {
    static_cast<void>(of.claim(race::stopped));
    stopped.store(1, std::memory_order_release);
  }
  /// A member that takes a value, from its start to its end.
  void receive(std::uint32_t i) {
    frame<node> const n;
    n->enter(of, i);
    bool listed = false;
    {
      std::lock_guard const guard(objects[i].lock);
      if (objects[i].kept.get() != 0) {
        claim c(n->entry());
        if (!c.is_open()) return;
        objects[i].kept.set(objects[i].kept.get() - 1);
        c.decide();
      } else {
        objects[i].waiting.push(*n);
        listed = true;
      }
    }
    while (listed && told[i].load(std::memory_order_acquire) == 0) {
      policy::pause();
      if (stopped.load(std::memory_order_acquire) == 0) continue;
      std::lock_guard const guard(objects[i].lock);
      if (objects[i].waiting.remove(*n)) return;
    }
    EXPLORE_ASSERT(of.is_claimed_by(i));
    taken.fetch_add(1, std::memory_order_relaxed);
  }
  /// A task that ends with success.
  void succeed(std::uint32_t i) {
    if (!of.is_claimed_at_last_by(i)) return;
    EXPLORE_ASSERT(of.is_claimed_at_last_by(i)); // it stays so, and counts once
    taken.fetch_add(1, std::memory_order_relaxed);
  }
  void expect(int given, int wanted, bool was_stopped, bool has_task) {
    int won = 0, kept = 0;
    std::uint32_t seen = 0;
    for (std::uint32_t i = 0; i != members; ++i) {
      kept += objects[i].kept.get();
      EXPLORE_ASSERT(objects[i].waiting.empty());
      std::uint32_t const turn = turns[i].get();
      won += turn != 0 ? 1 : 0;
      seen |= 1U << turn;
    }
    EXPLORE_ASSERT(won <= wanted && won == taken.load());
    EXPLORE_ASSERT((seen | 1U) == (2U << won) - 1); // each turn once
    EXPLORE_ASSERT(kept == given - won + (has_task && turns[members - 1].get() != 0 ? 1 : 0));
    if (!was_stopped) EXPLORE_ASSERT(won == wanted);
  }
};

/// Three givers, of which some win; or a stop comes between.
template<mutant Mutant, std::uint32_t Wanted, bool Stops>
void of_givers(execution& e) {
  auto const w = std::make_shared<world<Mutant>>(Wanted);
  auto const running = std::make_shared<policy::atomic<int>>(static_cast<int>(Wanted));
  for (std::uint32_t i = 0; i != members; ++i)
    e.thread([w, i, running] {
      w->receive(i);
      // As the coroutine around them: when enough have won, the others are stopped.
      if (w->of.is_claimed_by(i) && running->fetch_sub(1, std::memory_order_acq_rel) == 1) w->stop();
    });
  e.thread([w] {
    for (std::uint32_t i = 0; i != members; ++i) w->give(i);
  });
  if (Stops) e.thread([w] { w->stop(); });
  e.finally([w] { w->expect(members, Wanted, Stops, false); });
}
/// Two that wait, and a task.
template<mutant Mutant>
void beside_a_task(execution& e) {
  auto const w = std::make_shared<world<Mutant>>(2U);
  auto const running = std::make_shared<policy::atomic<int>>(2);
  auto const ended = [w, running](std::uint32_t i) {
    if (w->of.is_claimed_by(i) && running->fetch_sub(1, std::memory_order_acq_rel) == 1) w->stop();
  };
  for (std::uint32_t i = 0; i != 2; ++i)
    e.thread([w, i, ended] {
      w->receive(i);
      ended(i);
    });
  e.thread([w, ended] {
    w->succeed(2);
    ended(2);
  });
  e.thread([w] {
    w->give(0);
    w->give(1);
  });
  e.finally([w] { w->expect(2, 2, false, true); });
}

template<mutant Mutant>
tests const all{of_givers<Mutant, 2, false>, of_givers<Mutant, 1, false>, of_givers<Mutant, 3, false>,
                of_givers<Mutant, 2, true>, beside_a_task<Mutant>};

TEST(several_winners, are_as_many_as_are_wanted) {
  expect_all_pass({.max_executions = 30'000, .random = 6'000}, all<mutant::none>);
}
template<mutant Mutant>
void expect_found_out() {
  bool found = false;
  for (named_test const& t : all<Mutant>) found = found || !run({.max_executions = 30'000}, t.body).ok;
  EXPECT_TRUE(found);
}
TEST(several_winners, need_the_claim_before_the_hand_over) {
  expect_found_out<mutant::no_claim>();
  expect_found_out<mutant::claims_later>();
}

} // namespace
