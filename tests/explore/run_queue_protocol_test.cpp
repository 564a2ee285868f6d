// The run queue under the explorer: every item comes out once, and no slot is written before it has been
// read.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "sync/run_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace rubato_test;

struct item {
  policy::plain<int> runs{0};
};

/// Small queues, which are soon full, so that their slots are used again.
template<std::size_t Capacity = 2>
struct state {
  rubato::detail::basic_run_queue<policy, item, Capacity> mine, thiefs;
  std::array<item, 5> items;
  std::size_t made = 0;

  item* next() { return &items[made++]; }
  static bool run(item* i) {
    if (i != nullptr) i->runs.set(i->runs.get() + 1);
    return i != nullptr;
  }
  /// Pushes one, or runs it if the queue is full.
  void push() {
    item* const i = next();
    if (!mine.push(i)) run(i);
  }
  /// After everything: whatever is left is run, and each was run once.
  void check() {
    while (run(mine.pop()) || run(thiefs.pop())) continue;
    EXPLORE_ASSERT(mine.empty() && thiefs.empty());
    for (std::size_t i = 0; i != made; ++i) EXPLORE_ASSERT(items[i].runs.get() == 1);
  }
};

bool run(item* i) { return state<>::run(i); }

/// The occupant pushes more than fits, other threads pop.
void pops(execution& e) {
  auto const s = std::make_shared<state<>>();
  e.thread([s] {
    for (int i = 0; i != 4; ++i) s->push();
    run(s->mine.pop());
  });
  for (int t = 0; t != 2; ++t) e.thread([s] { run(s->mine.pop()); });
  e.finally([s] { s->check(); });
}

/// The oldest comes first, whichever thread pops.
void in_order(execution& e) {
  struct ordered : state<> {
    std::vector<item*> popped;
  };
  auto const s = std::make_shared<ordered>();
  e.thread([s] {
    s->push();
    s->push();
  });
  e.thread([s] {
    for (int i = 0; i != 2; ++i)
      if (item* const p = s->mine.pop()) s->popped.push_back(p);
    for (std::size_t i = 0; i != s->popped.size(); ++i) EXPLORE_ASSERT(s->popped[i] == &s->items[i]);
    for (item* const p : s->popped) run(p);
  });
  e.finally([s] { s->check(); });
}

/// A thief moves half to its own queue, from which other threads take.
void steals(execution& e) {
  auto const s = std::make_shared<state<4>>();
  e.thread([s] {
    for (int i = 0; i != 4; ++i) s->push();
    run(s->mine.pop());
    s->push();
  });
  e.thread([s] {
    run(s->mine.steal_into(s->thiefs));
    run(s->thiefs.pop());
  });
  e.thread([s] { run(s->thiefs.pop()); });
  e.finally([s] { s->check(); });
}

/// Two occupants steal from each other's small queues.
void mutual(execution& e) {
  auto const s = std::make_shared<state<>>();
  e.thread([s] {
    s->push();
    s->push();
    while (run(s->mine.pop())) continue;
    run(s->thiefs.steal_into(s->mine));
  });
  e.thread([s] {
    run(s->mine.steal_into(s->thiefs));
    if (!s->thiefs.push(&s->items[4])) run(&s->items[4]);
  });
  e.finally([s] {
    s->check();
    EXPLORE_ASSERT(s->items[4].runs.get() == 1);
  });
}

/// The occupant fills its queue again and again, never beyond its size.
void fills(execution& e) {
  auto const s = std::make_shared<state<>>();
  e.thread([s] {
    for (int i = 0; i != 2; ++i) {
      s->mine.fill([&] { return s->made != 4 ? s->next() : nullptr; }, 2);
      run(s->mine.pop());
    }
  });
  for (int t = 0; t != 2; ++t) e.thread([s] { run(s->mine.pop()); });
  e.finally([s] { s->check(); });
}

enum class way { push, fill, steal };

/// Guarantee W: a thread that announces its sleep finds the item, or the pusher sees the announcement.
template<way How>
void sleeper(execution& e) {
  struct announced : state<4> {
    policy::atomic<int> sleeping{0};
    bool found = false, seen = false;
  };
  auto const s = std::make_shared<announced>();
  if (How == way::steal)
    for (int i = 0; i != 3; ++i) s->push();
  e.thread([s] {
    item* i = nullptr;
    if (How == way::push) s->push();
    if (How == way::fill) s->mine.fill([&] { return s->made == 0 ? s->next() : nullptr; }, 2);
    if (How == way::steal) i = s->mine.steal_into(s->thiefs);
    s->seen = s->sleeping.load() == 1;
    run(i);
  });
  if (How == way::steal) // the rest of what was there
    e.thread([s] {
      while (run(s->mine.pop())) continue;
    });
  e.thread([s] {
    s->sleeping.fetch_add(1);
    s->found = !s->mine.empty() || !s->thiefs.empty();
  });
  e.finally([s] {
    EXPLORE_ASSERT(s->found || s->seen || (s->mine.empty() && s->thiefs.empty()));
    s->check();
  });
}

tests const all{
    pops, in_order, steals, mutual, fills, sleeper<way::push>, sleeper<way::fill>, sleeper<way::steal>};

TEST(run_queue_protocol, loses_nothing_and_gives_nothing_twice) {
  expect_all_pass({.max_executions = 200'000, .random = 10'000}, all);
}
TEST(run_queue_protocol, needs_every_order) {
  // A thread that frees a slot has read it before, and the one that fills it knows it free. To see a slot's
  // value before it is written would be load buffering, which the explorer does not do.
  std::vector<std::string> const load_buffering{"[acquire -> relaxed] push: std::uint64_t const head",
                                                "[acquire -> relaxed] fill: std::uint64_t const head",
                                                "[acquire -> relaxed] steal_into: if (end - mine.head_",
                                                "[acq_rel -> acquire] pop",
                                                "[acq_rel -> acquire] steal_into"};
  std::vector<std::string> allowed{
      // The tail that is read next acquires the items; a head that is newer than it only means that there is
      // nothing.
      "[acquire -> relaxed] pop: std::uint64_t head", "[acquire -> relaxed] steal_into: std::uint64_t head",
      "[acquire -> relaxed] size: std::uint64_t const head", "[failure acquire -> relaxed]",
      "[acq_rel -> release] pop", "[acq_rel -> release] steal_into",
      // A sleeper that has announced itself asks empty().
      "[seq_cst -> acquire] pop", "[seq_cst -> acquire] steal_into"};
  allowed.insert(allowed.end(), load_buffering.begin(), load_buffering.end());
  expect_every_weakening_fails({.max_executions = 5'000}, all, allowed);
}

} // namespace
