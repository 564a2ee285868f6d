// The queues of the priorities high and low under the explorer, with workers around them: no wake is lost for
// a task of any priority, the word never says too little, and a pool is not idle too early.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "explore/worker_pool.hpp"
#include "rubato/priority.hpp"
#include "sync/priority_queues.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>

namespace {

using namespace rubato_test;
using priority_queues = rubato::detail::basic_priority_queues<policy>;
using rubato::priority;
using rubato::detail::priority_lane;

constexpr auto high = priority::high, low = priority::low;

/// Its tasks are all of the two priorities.
struct pool : worker_pool<pool, priority_queues::node, seat, 2> {
  priority_queues queues;

  using worker_pool::worker_pool;

  void push(item* i, priority c, priority_lane l = priority_lane::tasks) {
    queues.push(i, c, l);
    notify();
  }
  [[nodiscard]] bool any_queued() const { return queues.has_ready(); }
  [[nodiscard]] bool second_look() const {
    return leaves_out == fault::looks_at_one_priority ? queues.pushed(high) != queues.popped(high)
                                                      : queues.has_ready();
  }
  item* next(seat& s) { return queues.any() ? find(s) : nullptr; }
  item* find(seat& /*s*/) {
    auto* const i = static_cast<item*>(queues.pop(high));
    return i != nullptr ? i : static_cast<item*>(queues.pop(low));
  }
  void check() {
    worker_pool::check();
    EXPLORE_ASSERT(!queues.any() && !queues.any(high) && !queues.any(low));
  }
};
using item = pool::item;
using worker = pool::worker;

/// A worker is on its way to sleep, or has long been there, when a task is pushed.
template<bool Asleep, priority Class, priority_lane Lane = priority_lane::tasks, fault Fault = fault::none>
void one_worker(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 1U);
  Asleep ? p->asleep(0, 0) : p->seated(0, 0);
  add_worker(e, p, 0);
  e.thread([p] { p->push(p->make(pool::nothing), Class, Lane); });
  e.finally([p] { p->check(); });
}

/// Two producers, one task of either priority, and two workers that sleep or are about to; both are needed.
template<bool Asleep, fault Fault = fault::none>
void two_producers(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 2U);
  for (std::size_t w = 0; w != 2; ++w) {
    Asleep ? p->asleep(w, w) : p->seated(w, w);
    add_worker(e, p, w);
  }
  e.thread([p, i = p->make(pool::meets)] { p->push(i, high); });
  e.thread([p, i = p->make(pool::meets)] { p->push(i, low); });
  e.finally([p] { p->check(); });
}

/// A task queues one of the other priority and needs it to run beside it.
template<priority Class>
void pushed_by_a_task(execution& e) {
  auto const p = std::make_shared<pool>(fault::none, 2U);
  p->seated(0, 0);
  p->seated(1, 1);
  p->queues.push(p->make([](worker& t) {
    t.of->push(t.of->make(pool::meets), Class == high ? low : high);
    t.of->meet();
  }),
                 Class, priority_lane::tasks);
  add_worker(e, p, 0);
  add_worker(e, p, 1);
  e.finally([p] { p->check(); });
}

/// Both lanes of a priority hold a task: one is called for the first, and the next for the second.
template<fault Fault = fault::none>
void next_is_called(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 2U);
  for (std::size_t w = 0; w != 2; ++w) {
    p->asleep(w, w);
    add_worker(e, p, w);
  }
  e.thread([p] {
    p->push(p->make(pool::meets), low, priority_lane::tasks);
    p->push(p->make(pool::meets), low, priority_lane::events);
  });
  e.finally([p] { p->check(); });
}

/// A thread that waits until the pool is idle comes back, and not before a task and the one that it queues
/// have run.
template<priority First>
void idleness(execution& e) {
  auto const p = std::make_shared<pool>(fault::none, 2U);
  p->seated(0, 0);
  add_worker(e, p, 0);
  e.thread([p] {
    p->push(p->make([](worker& t) { t.of->push(t.of->make(pool::nothing), First == high ? low : high); }),
            First);
    p->wait_idle();
    EXPLORE_ASSERT(p->runs_seen.load(std::memory_order_relaxed) == 2);
  });
  e.finally([p] { p->check(); });
}

/// The queues alone. `pushed`: so many tasks are.
struct alone {
  priority_queues queues;
  std::array<item, 2> items;
  policy::atomic<int> pushed{0};
  void push() {
    queues.push(&items[0], high, priority_lane::tasks);
    pushed.store(1, std::memory_order_release);
    queues.push(&items[1], low, priority_lane::events);
    pushed.store(2, std::memory_order_release);
  }
};

/// A worker at a task boundary reads of what was pushed before.
void word_at_a_boundary(execution& e) {
  auto const s = std::make_shared<alone>();
  e.thread([s] { s->push(); });
  e.thread([s] {
    int const n = s->pushed.load(std::memory_order_acquire);
    EXPLORE_ASSERT(n < 1 || (s->queues.any() && s->queues.any(high)));
    EXPLORE_ASSERT(n < 2 || s->queues.any(low));
  });
}

/// Two workers take what there is; the word ends at zero.
void word_after_pops(execution& e) {
  auto const s = std::make_shared<alone>();
  e.thread([s] { s->push(); });
  for (int t = 0; t != 2; ++t)
    e.thread([s] {
      static_cast<void>(s->queues.pop(high));
      static_cast<void>(s->queues.pop(low));
    });
  e.finally([s] {
    while (s->queues.pop(high) != nullptr) continue;
    while (s->queues.pop(low) != nullptr) continue;
    EXPLORE_ASSERT(!s->queues.any() && !s->queues.has_ready());
    EXPLORE_ASSERT(s->queues.pushed(high) == 1 && s->queues.popped(high) == 1);
    EXPLORE_ASSERT(s->queues.pushed(low) == 1 && s->queues.popped(low) == 1);
  });
}

tests const all{
    {"high", one_worker<false, high>},
    {"low", one_worker<false, low>},
    {"high, asleep", one_worker<true, high>},
    {"low, asleep", one_worker<true, low>},
    {"high event", one_worker<false, high, priority_lane::events>},
    {"low event", one_worker<false, low, priority_lane::events>},
    {"two producers", two_producers<false>},
    {"two producers, asleep", two_producers<true>},
    {"pushed by a high task", pushed_by_a_task<high>},
    {"pushed by a low task", pushed_by_a_task<low>},
    {"next is called", next_is_called<>},
    {"idleness, high first", idleness<high>},
    {"idleness, low first", idleness<low>},
    {"word at a boundary", word_at_a_boundary},
    {"word after pops", word_after_pops},
};

TEST(priority_queues_protocol, loses_no_wake_and_never_understates) {
  expect_all_pass({.max_executions = 5'000, .random = 4'000}, all);
}
TEST(priority_queues_protocol, needs_every_look) {
  expect_all_fail(
      {{"no second look", one_worker<false, low, priority_lane::tasks, fault::no_second_look>},
       {"a look at one priority", one_worker<false, low, priority_lane::tasks, fault::looks_at_one_priority>},
       {"no next call", next_is_called<fault::no_next_call>}},
      verdict::deadlock);
}
TEST(priority_queues_protocol, needs_every_order) {
  expect_every_weakening_fails(
      {.max_executions = 2'000, .weaken_in = "priority_queues.hpp"}, all,
      {// The explorer puts all sequentially consistent accesses into one order that agrees with what is read;
       // C++20 promises that to the thread that asks for idleness only by this release.
       "[release -> relaxed] pop"});
}

} // namespace
