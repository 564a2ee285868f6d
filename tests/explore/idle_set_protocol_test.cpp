// Seats, sleeping and waking under the explorer: guarantee W, with the real injector and run queues.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "explore/worker_pool.hpp"
#include "sync/injector.hpp"
#include "sync/run_queue.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

namespace {

using namespace rubato_test;
using injector = rubato::detail::basic_injector<policy>;

struct pool;
using item = basic_item<pool, injector::node>;

struct queued_seat : seat {
  rubato::detail::basic_run_queue<policy, item, 4> queue;
};

struct pool : worker_pool<pool, injector::node, queued_seat, 3> {
  injector entry;
  std::size_t batch = 3; ///< how many are moved to one's own queue, beyond the first

  using worker_pool::worker_pool;

  void push(item* i) {
    entry.push(i);
    notify();
  }
  void push_own(queued_seat& s, item* i) {
    EXPLORE_ASSERT(s.queue.push(i));
    notify();
  }
  [[nodiscard]] bool any_queued() const {
    return !entry.empty() || !seats[0].queue.empty() || !seats[1].queue.empty();
  }
  item* pull(queued_seat& s) {
    if (entry.empty()) return nullptr;
    std::lock_guard const guard(entry);
    auto* const first = static_cast<item*>(entry.pop());
    if (first == nullptr) return nullptr;
    std::size_t const more = s.queue.fill([this] { return static_cast<item*>(entry.pop()); }, batch);
    // While they were moved, they could be seen in neither queue.
    if (more != 0 && leaves_out != fault::no_word_of_a_batch) notify();
    return first;
  }
  item* next(queued_seat& s) {
    if (item* const i = s.queue.pop()) return i;
    return pull(s);
  }
  item* find(queued_seat& s) {
    if (item* const i = next(s)) return i;
    queued_seat& other = seats[&s == seats.data() ? 1 : 0];
    if (other.queue.empty()) return nullptr;
    item* const i = other.queue.steal_into(s.queue);
    if (i != nullptr && !s.queue.empty() && leaves_out != fault::no_word_of_a_batch) notify();
    return i;
  }

  /// A wait within a task: the seat is left to other threads meanwhile.
  template<class Done>
  void wait(worker& t, Done done) {
    idle_set::seat* const s = threads.vacate(t, leaving::to_wait);
    if (leaves_out != fault::no_look_in_a_wait && any_queued()) notify();
    while (!done()) t.parker.park();
    if (s == nullptr || !threads.sit(t, s, true)) return;
    seat& own = *t.sits_on();
    own.used.set(own.used.get() + 1);
  }
};
using worker = pool::worker;

/// A worker is on its way to sleep, or has long been there, when work is pushed from outside.
template<bool Asleep, fault Fault = fault::none>
void one_worker(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 1U);
  Asleep ? p->asleep(0, 0) : p->seated(0, 0);
  add_worker(e, p, 0);
  e.thread([p] { p->push(p->make(pool::nothing)); });
  e.finally([p] { p->check(); });
}

/// Two sleep, and two items need both of them: the called thread calls the next.
template<bool Asleep, fault Fault = fault::none>
void next_is_called(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 2U);
  p->batch = 0; // else the second is called when the items are moved
  for (std::size_t w = 0; w != 2; ++w) {
    Asleep ? p->asleep(w, w) : p->seated(w, w);
    add_worker(e, p, w);
  }
  e.thread([p] {
    p->push(p->make(pool::meets));
    p->push(p->make(pool::meets));
  });
  e.finally([p] { p->check(); });
}

/// Two producers, one item each, and two that sleep or are about to.
template<bool Asleep>
void two_producers(execution& e) {
  auto const p = std::make_shared<pool>(fault::none, 2U);
  for (std::size_t w = 0; w != 2; ++w) {
    Asleep ? p->asleep(w, w) : p->seated(w, w);
    add_worker(e, p, w);
  }
  for (item* const i : {p->make(pool::meets), p->make(pool::meets)}) e.thread([p, i] { p->push(i); });
  e.finally([p] { p->check(); });
}

/// A task queues another and needs it to run beside it.
void pushed_by_a_task(execution& e) {
  auto const p = std::make_shared<pool>(fault::none, 2U);
  p->seated(0, 0);
  p->seated(1, 1);
  p->entry.push(p->make([](worker& t) {
    t.of->push_own(*t.sits_on(), t.of->make(pool::meets));
    t.of->meet();
  }));
  add_worker(e, p, 0);
  add_worker(e, p, 1);
  e.finally([p] { p->check(); });
}

/// A worker moves a batch to its own queue while the other gives up its search.
template<fault Fault = fault::none>
void batch(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 2U);
  p->seated(0, 0);
  p->seated(1, 1);
  p->entry.push(p->make(pool::meets));
  p->entry.push(p->make(pool::meets));
  add_worker(e, p, 0);
  add_worker(e, p, 1);
  e.finally([p] { p->check(); });
}

/// A thread moves what is left in the queue of a closed seat, as a `moving_tasks` guard allows, while the
/// worker of the other seat gives up its search.
template<fault Fault = fault::none>
void moved(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 1U);
  p->seated(0, 0);
  EXPLORE_ASSERT(p->seats[1].queue.push(p->make(pool::nothing)));
  add_worker(e, p, 0);
  e.thread([p] {
    {
      rubato_test::quiet::in_transit const moving(p->idleness);
      if (item* const i = p->seats[1].queue.pop()) p->entry.push(i);
    }
    if (Fault == fault::no_word_of_a_move) return;
    if (p->any_queued()) p->notify();
  });
  e.finally([p] { p->check(); });
}

/// A task waits for one that stands behind it: its seat goes to a sleeper, and it comes back to that seat, or
/// without one until the other steps down. A third item is pushed when all that goes on.
template<fault Fault = fault::none, bool Third = false>
void waiting(execution& e) {
  auto const p = std::make_shared<pool>(Fault, Third ? 3U : 2U);
  p->seated(0, 0);
  p->asleep(1, 1);
  p->threads.close(&p->seats[1]); // one seat for two threads
  auto const done = std::make_shared<policy::atomic<bool>>(false);
  p->entry.push(
      p->make([done](worker& t) { t.of->wait(t, [&] { return done->load(std::memory_order_acquire); }); }));
  p->entry.push(p->make([p = p.get(), done](worker&) {
    done->store(true, std::memory_order_release);
    p->workers[0].parker.unpark();
  }));
  add_worker(e, p, 0);
  add_worker(e, p, 1);
  if (Third) e.thread([p] { p->push(p->make(pool::nothing)); });
  e.finally([p] { p->check(); });
}

/// A searcher gives its seat to an unseated thread that is in the middle of a task, which needs what has just
/// been pushed; a third sleeps.
template<fault Fault = fault::none>
void stepping_down(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 1U);
  p->seated(1, 0);
  p->threads.count_in(p->workers[0]);
  EXPLORE_ASSERT(!p->threads.sit(p->workers[0], nullptr, true));
  p->asleep(2, 1);
  e.thread([p] {
    p->meet();
    p->work(p->workers[0]);
  });
  add_worker(e, p, 1);
  add_worker(e, p, 2);
  e.thread([p] { p->push(p->make(pool::meets)); });
  e.finally([p] { p->check(); });
}

/// A second seat, for which there is no thread.
void no_thread(execution& e) {
  auto const p = std::make_shared<pool>(fault::none, 2U);
  p->seated(0, 0);
  p->threads.open(&p->seats[1]);
  add_worker(e, p, 0);
  for (item* const i : {p->make(pool::nothing), p->make(pool::nothing)}) e.thread([p, i] { p->push(i); });
  e.finally([p] { p->check(); });
}

/// A thread that waits until the pool is idle comes back, and not before what was queued then has run, with
/// all that it has queued in its turn. One or two workers.
template<std::size_t Workers, fault Fault = fault::none>
void idleness(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 2U);
  for (std::size_t w = 0; w != Workers; ++w) {
    p->seated(w, w);
    add_worker(e, p, w);
  }
  e.thread([p] {
    p->push(p->make([](worker& t) { t.of->push_own(*t.sits_on(), t.of->make(pool::nothing)); }));
    p->wait_idle();
    EXPLORE_ASSERT(p->runs_seen.load(std::memory_order_relaxed) == 2);
  });
  e.finally([p] { p->check(); });
}

/// The same with a thread that comes from outside, queues and leaves.
void idleness_and_guest(execution& e) {
  auto const p = std::make_shared<pool>(fault::none, 1U);
  p->seated(0, 0);
  add_worker(e, p, 0);
  e.thread([p] {
    worker& guest = p->workers[2];
    p->threads.enter(guest);
    p->push(p->make(pool::nothing));
    p->threads.vacate(guest, leaving::for_good);
    if (p->any_queued()) p->notify();
    p->on_quiet();
  });
  e.thread([p] { p->wait_idle(); });
  e.finally([p] { p->check(); });
}

/// A thread is made for a seat, and the monitor follows the seat to its record.
void followed_by_the_monitor(execution& e) {
  auto const p = std::make_shared<pool>(fault::none, 0U);
  p->threads.open(&p->seats[0]);
  e.thread([p] {
    worker& made = p->workers[0];
    made.made_whole.set(1);
    idle_set::call const c = p->threads.unpark_for_seat();
    EXPLORE_ASSERT(c && c.sleeper == nullptr);
    p->threads.settle(c, made);
  });
  e.thread([p] {
    auto* const t = static_cast<worker*>(p->seats[0].occupant.load(std::memory_order_acquire));
    if (t != nullptr) EXPLORE_ASSERT(t->made_whole.get() == 1);
  });
}

tests const all{
    {"one_worker", one_worker<false>},
    {"one_worker, asleep", one_worker<true>},
    {"next_is_called", next_is_called<false>},
    {"next_is_called, asleep", next_is_called<true>},
    {"two_producers", two_producers<false>},
    {"two_producers, asleep", two_producers<true>},
    {"pushed_by_a_task", pushed_by_a_task},
    {"batch", batch<>},
    {"moved", moved<>},
    {"waiting", waiting<>},
    {"waiting, third", waiting<fault::none, true>},
    {"stepping_down", stepping_down<>},
    {"no_thread", no_thread},
    {"idleness, 1", idleness<1>},
    {"idleness, 2", idleness<2>},
    {"idleness, guest", idleness_and_guest},
    {"monitor", followed_by_the_monitor},
};

TEST(idle_set_protocol, loses_no_wake_and_seats_one_at_a_time) {
  expect_all_pass({.max_executions = 30'000, .random = 10'000}, all);
}
TEST(idle_set_protocol, needs_every_look) {
  expect_all_fail({{"no second look", one_worker<false, fault::no_second_look>},
                   {"no next call", next_is_called<true, fault::no_next_call>},
                   {"no word of a batch", batch<fault::no_word_of_a_batch>},
                   {"no word of a move", moved<fault::no_word_of_a_move>},
                   {"no look in a wait", waiting<fault::no_look_in_a_wait>},
                   {"no look when unseated", waiting<fault::no_look_when_unseated, true>},
                   {"no look at stepping down", stepping_down<fault::no_look_at_stepping_down>},
                   {"no word of quiet", idleness<1, fault::no_word_of_quiet>}},
                  verdict::deadlock);
}
TEST(idle_set_protocol, needs_every_order) {
  expect_every_weakening_fails(
      {.max_executions = 2'000, .weaken_in = "idle_set.hpp"}, all,
      {// A load that sees a searcher comes before the end of that search, which is sequentially
       // consistent.
       "[seq_cst -> acq_rel] take_seat", "[seq_cst -> acq_rel] begin_search",
       // A thread that goes idle looks at the state, then at the waiters for idleness: one of the two, the
       // change or the look, would do. The monitor, which is not here, relies on the change.
       "[seq_cst -> acq_rel] activate", "[seq_cst -> acq_rel] vacate", "[seq_cst -> acq_rel] step_down"});
}

} // namespace
