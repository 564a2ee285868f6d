// The limit of a queue under the explorer: it is kept, no caller sleeps beside free capacity, and a pool that
// ends refuses as many as it says.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "sync/queue_limit.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

namespace {

using rubato::detail::admission;
using namespace rubato_test;
using queue_limit = rubato::detail::basic_queue_limit<policy>;

/// What a caller that waits, or a pool that ends, leaves out or swaps.
enum class mutant {
  none,
  enters_late, ///< the caller tries, then enters the list
  no_leave,    ///< it goes on without the word to the next caller
  wakes_early, ///< the pool wakes the callers, then begins to end
};

struct pool {
  queue_limit limit;
  policy::atomic<bool> ends{false};
  policy::atomic<int> queued{0};
  policy::atomic<int> granted{0}, refused{0};
  int most;

  explicit pool(int n, int most_late = 0)
      : limit(static_cast<std::size_t>(n), most_late)
      , most(n) {}

  admission try_acquire() { return limit.try_acquire(ends.load(std::memory_order_seq_cst)); }
  /// As capacity::wait_outside() does.
  template<mutant Mutant>
  admission acquire() {
    admission a = try_acquire();
    if (a != admission::full) return a;
    frame<rubato::detail::basic_parker<policy>> bell;
    queue_limit::waiter self(*bell);
    if (Mutant == mutant::enters_late) a = try_acquire();
    limit.enter(self);
    if (Mutant == mutant::enters_late && a == admission::full) bell->park();
    while (a == admission::full && (a = try_acquire()) == admission::full) bell->park();
    if (Mutant != mutant::no_leave) limit.leave(self);
    return a;
  }
  /// Queues a task, which another thread takes out.
  template<mutant Mutant = mutant::none>
  bool enqueue() {
    if (acquire<Mutant>() == admission::refused) {
      refused.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
    granted.fetch_add(1, std::memory_order_relaxed);
    EXPLORE_ASSERT(queued.fetch_add(1, std::memory_order_relaxed) < most);
    return true;
  }
  void take() {
    queued.fetch_sub(1, std::memory_order_relaxed);
    limit.release();
  }
};

/// Every caller queues a task and takes one.
template<int Callers, int Most, mutant Mutant = mutant::none>
void callers(execution& e) {
  auto const p = std::make_shared<pool>(Most);
  for (int i = 0; i != Callers; ++i)
    e.thread([p] {
      static_cast<void>(p->enqueue<Mutant>());
      p->take();
    });
  e.finally([p] { EXPLORE_ASSERT(p->granted.load() == Callers && p->queued.load() == 0); });
}
/// A full queue, two callers that wait, and two tasks that are taken at once: the first caller may be told
/// twice.
template<mutant Mutant = mutant::none>
void two_wait(execution& e) {
  auto const p = std::make_shared<pool>(2);
  for (int i = 0; i != 2; ++i) static_cast<void>(p->enqueue());
  for (int i = 0; i != 2; ++i) e.thread([p] { static_cast<void>(p->enqueue<Mutant>()); });
  e.thread([p] {
    p->take();
    p->take();
  });
  e.finally([p] { EXPLORE_ASSERT(p->granted.load() == 4 && p->queued.load() == 2); });
}
/// A task of the pool exceeds the limit: one task more must be taken before others get in.
void exceeded(execution& e) {
  auto const p = std::make_shared<pool>(1);
  static_cast<void>(p->enqueue());
  p->limit.exceed();
  e.thread([p] { static_cast<void>(p->enqueue()); });
  e.thread([p] {
    p->limit.release();
    EXPLORE_ASSERT(p->granted.load() == 1);
    p->take();
  });
  e.finally([p] { EXPLORE_ASSERT(p->granted.load() == 2); });
}
/// The pool ends while a caller waits: it is refused.
template<mutant Mutant = mutant::none>
void refused(execution& e) {
  auto const p = std::make_shared<pool>(1);
  static_cast<void>(p->enqueue());
  e.thread([p] { EXPLORE_ASSERT(!p->enqueue()); });
  e.thread([p] {
    if (Mutant == mutant::wakes_early) p->limit.notify_all();
    p->ends.store(true, std::memory_order_seq_cst);
    if (Mutant != mutant::wakes_early) p->limit.notify_all();
  });
}
/// A pool that ends takes as many tasks from outside as it says.
void late(execution& e) {
  auto const p = std::make_shared<pool>(9, 2);
  p->ends.store(true);
  for (int i = 0; i != 3; ++i) e.thread([p] { static_cast<void>(p->enqueue()); });
  e.finally([p] {
    EXPLORE_ASSERT(p->granted.load() == 2 && p->refused.load() == 1);
    EXPLORE_ASSERT(!p->limit.admit_late());
    p->limit.restart_late();
    EXPLORE_ASSERT(p->limit.admit_late());
  });
}
/// The pool ends anew while a caller takes back its place, which it cannot use: it still takes a task.
void late_beside_a_restart(execution& e) {
  auto const p = std::make_shared<pool>(1, 1);
  static_cast<void>(p->enqueue());
  e.thread([p] { EXPLORE_ASSERT(p->limit.try_acquire(true) == admission::full); });
  e.thread([p] { p->limit.restart_late(); });
  e.finally([p] { EXPLORE_ASSERT(p->limit.admit_late()); });
}
/// One that finds the queue full does not use up its place.
void late_and_full(execution& e) {
  auto const p = std::make_shared<pool>(1, 2);
  p->ends.store(true);
  static_cast<void>(p->enqueue());
  e.thread([p] { EXPLORE_ASSERT(p->enqueue()); });
  e.thread([p] { p->take(); });
}

tests const all{callers<2, 1>, callers<3, 1>, callers<3, 2>, two_wait<>,           exceeded,
                refused<>,     late,          late_and_full, late_beside_a_restart};

TEST(queue_limit_protocol, keeps_the_limit_and_wakes_each_caller) {
  expect_all_pass({.max_executions = 50'000, .random = 10'000}, all);
}
TEST(queue_limit_protocol, needs_every_step) {
  expect_all_fail(
      {callers<2, 1, mutant::enters_late>, two_wait<mutant::no_leave>, refused<mutant::wakes_early>});
}
TEST(queue_limit_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "queue_limit.hpp"}, all);
}

} // namespace
