// Seats, sleeping and waking under the explorer: guarantee W. The workers here do as the pool's do
// (src/sched/worker/worker.cpp), with the real idle set, parkers, injector and run queues; a job that no
// thread is called for is a deadlock.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "sync/idle_set.hpp"
#include "sync/injector.hpp"
#include "sync/parker.hpp"
#include "sync/quiet.hpp"
#include "sync/run_queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace {

using explore::execution;
using explore::policy;
using explore::verdict;
using injector = rubato::detail::basic_injector<policy>;
using idle_set = rubato::detail::basic_idle_set<policy>;
using rubato::detail::leaving;

struct pool;
struct worker;

struct item : injector::node {
  std::function<void(worker&)> body;
  policy::plain<int> runs{0};
};

struct seat : idle_set::seat {
  rubato::detail::basic_run_queue<policy, item, 4> queue;
  policy::plain<int> used{0}; ///< written by the occupant, and so by one at a time
};

struct worker : idle_set::thread {
  pool* of = nullptr;
  bool resting = false;
  policy::plain<int> made_whole{0};       ///< before it gets a seat
  policy::atomic<std::uint64_t> began{0}; ///< to run after it had searched; its own to change
  [[nodiscard]] seat* sits_on() const { return static_cast<seat*>(place.load(std::memory_order_acquire)); }
};

/// What the workers leave out, each of which must be found.
enum class fault {
  none,
  no_second_look,           // after a seat was left for want of work
  no_next_call,             // by the last searcher, when it has found something
  no_word_of_a_batch,       // that was moved from queue to queue
  no_look_in_a_wait,        // after the seat was left for a wait
  no_look_when_homeless,    // if a seat was given to a thread that was about to go idle without one
  no_look_at_stepping_down, // by a searcher that gives its seat away
  no_word_of_quiet,         // to the threads that wait until it is
};

struct pool {
  fault leaves_out;
  idle_set people;
  injector entry;
  std::array<seat, 2> seats;
  std::array<worker, 3> workers;
  std::array<item, 4> items;
  std::size_t made = 0;
  std::size_t expected; ///< so many items end the pool
  std::size_t runs = 0;
  std::size_t batch = 3; ///< how many are moved to one's own queue, beyond the first
  policy::atomic<bool> ending{false};
  rubato::detail::basic_quiet<policy> quiet;
  policy::atomic<int> together{0};
  policy::atomic<int> runs_seen{0};

  pool(fault f, std::size_t n)
      : leaves_out(f)
      , expected(n) {
    for (worker& w : workers) w.of = this;
  }

  // Before the threads begin
  void seated(std::size_t w, std::size_t s) {
    people.open(&seats[s]);
    people.enter(workers[w]);
    EXPLORE_ASSERT(workers[w].sits_on() == &seats[s]);
  }
  void idle(std::size_t w, std::size_t s) {
    seated(w, s);
    people.vacate(workers[w], leaving::to_rest);
    workers[w].resting = true;
  }

  // Queues
  item* make(std::function<void(worker&)> body) {
    item* const i = &items[made++];
    i->body = std::move(body);
    return i;
  }
  void push(item* i) {
    entry.push(i);
    notify();
  }
  void push_own(seat& s, item* i) {
    EXPLORE_ASSERT(s.queue.push(i));
    notify();
  }
  [[nodiscard]] bool any_queued() const {
    return !entry.empty() || !seats[0].queue.empty() || !seats[1].queue.empty();
  }
  void notify() {
    if (people.wanted() == idle_set::want::worker) call();
  }
  void call() {
    idle_set::call const c = people.summon();
    if (!c || c.sleeper != nullptr) return;
    people.give_up(c); // as if no thread could be made
    if (any_queued() && people.has_idle()) notify();
  }
  item* pull(seat& s) {
    if (entry.empty()) return nullptr;
    std::lock_guard const guard(entry);
    auto* const first = static_cast<item*>(entry.pop());
    if (first == nullptr) return nullptr;
    std::size_t const more = s.queue.fill([this] { return static_cast<item*>(entry.pop()); }, batch);
    // While they were moved, they could be seen in neither queue.
    if (more != 0 && leaves_out != fault::no_word_of_a_batch) notify();
    return first;
  }
  item* next(seat& s) {
    if (item* const i = s.queue.pop()) return i;
    return pull(s);
  }
  item* find(seat& s) {
    if (item* const i = next(s)) return i;
    seat& other = seats[&s == seats.data() ? 1 : 0];
    if (other.queue.empty()) return nullptr;
    item* const i = other.queue.steal_into(s.queue);
    if (i != nullptr && !s.queue.empty() && leaves_out != fault::no_word_of_a_batch) notify();
    return i;
  }

  // Working
  void boundary(worker& t) {
    if (people.has_unseated() && t.sits_on() != nullptr && people.step_down(t)) t.resting = true;
  }
  void run(worker& t, item& i) {
    i.runs.set(i.runs.get() + 1);
    i.body(t);
    runs_seen.fetch_add(1, std::memory_order_relaxed);
    if (++runs != expected) return;
    ending.store(true, std::memory_order_release);
    for (worker& w : workers) w.parker.unpark();
  }
  void run_and_look(worker& t, item& i) {
    run(t, i);
    boundary(t);
  }
  void work(worker& t) {
    bool searching = false;
    for (;;) {
      seat* const s = t.sits_on();
      if (s == nullptr) {
        if (!std::exchange(t.resting, true)) {                              // unseated at the end of its task
          bool const given = people.vacate(t, leaving::to_rest) != nullptr; // a seat, in this very moment
          if (given && leaves_out != fault::no_look_when_homeless && any_queued()) notify();
        }
        if (ending.load(std::memory_order_acquire)) return;
        if (t.sits_on() == nullptr) t.parker.park();
        continue;
      }
      if (std::exchange(t.resting, false)) searching = true; // called
      s->used.set(s->used.get() + 1);
      if (item* const i = searching ? nullptr : next(*s)) {
        run_and_look(t, *i);
        continue;
      }
      if (!searching) searching = people.begin_search(1);
      if (any_queued()) {
        bool const last = searching && people.end_search();
        if (std::exchange(searching, false))
          t.began.store(t.began.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        item* const i = find(*s);
        if (last && i != nullptr && leaves_out != fault::no_next_call && any_queued()) notify();
        if (i != nullptr) {
          run_and_look(t, *i);
          continue;
        }
        searching = people.begin_search(1);
      }
      on_quiet();
      if (searching && people.has_unseated()) {
        searching = false;
        if (leaves_out == fault::no_look_at_stepping_down)
          static_cast<void>(people.end_search());
        else if (people.end_search() && any_queued())
          notify();
        boundary(t);
        continue;
      }
      s->used.set(s->used.get() + 1);
      people.vacate(t, leaving::to_rest, std::exchange(searching, false));
      t.resting = true;
      if (leaves_out != fault::no_second_look && any_queued()) notify();
      on_quiet();
    }
  }

  // Idleness
  [[nodiscard]] bool quiescent() const {
    return quiet.holds(
        [this] {
          std::uint64_t n = 0;
          for (worker const& w : workers) n += w.began.load(std::memory_order_acquire);
          return n;
        },
        [this] { return !people.no_thread_runs(); }, [this] { return any_queued(); });
  }
  void on_quiet() {
    if (leaves_out != fault::no_word_of_quiet && people.no_thread_runs() && quiet.is_awaited())
      quiet.wake_all();
  }
  void wait_idle() {
    decltype(quiet)::announcement const announced(quiet);
    for (;;) {
      std::uint32_t const changes = quiet.changes();
      if (quiescent()) return;
      quiet.sleep(changes);
    }
  }

  /// A wait within a task: the seat is left to other threads meanwhile.
  template<class Done>
  void wait(worker& t, Done done) {
    idle_set::seat* const s = people.vacate(t, leaving::to_wait);
    if (leaves_out != fault::no_look_in_a_wait && any_queued()) notify();
    while (!done()) t.parker.park();
    if (s == nullptr || !people.sit(t, s, true)) return;
    auto& own = *t.sits_on();
    own.used.set(own.used.get() + 1);
  }
  /// Ends only when two items are in it: no thread may sleep while the other one is queued.
  void meet() {
    together.fetch_add(1, std::memory_order_relaxed);
    while (together.load(std::memory_order_relaxed) < 2) policy::pause();
  }
  void check() {
    EXPLORE_ASSERT(runs == expected && !any_queued());
    for (std::size_t i = 0; i != made; ++i) EXPLORE_ASSERT(items[i].runs.get() == 1);
  }
};

void nothing(worker&) {}
void meet(worker& t) { t.of->meet(); }

void add_worker(execution& e, std::shared_ptr<pool> const& p, std::size_t w) {
  e.thread([p, w] { p->work(p->workers[w]); });
}

/// A worker is on its way to sleep, or has long been there, when work is pushed from outside.
template<bool Asleep, fault Fault = fault::none>
void one_worker(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 1U);
  Asleep ? p->idle(0, 0) : p->seated(0, 0);
  add_worker(e, p, 0);
  e.thread([p] { p->push(p->make(nothing)); });
  e.finally([p] { p->check(); });
}

/// Two sleep, and two items need both of them: the called thread calls the next.
template<bool Asleep, fault Fault = fault::none>
void next_is_called(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 2U);
  p->batch = 0; // else the second is called when the items are moved
  for (std::size_t w = 0; w != 2; ++w) {
    Asleep ? p->idle(w, w) : p->seated(w, w);
    add_worker(e, p, w);
  }
  e.thread([p] {
    p->push(p->make(meet));
    p->push(p->make(meet));
  });
  e.finally([p] { p->check(); });
}

/// Two producers, one item each, and two that sleep or are about to.
template<bool Asleep>
void two_producers(execution& e) {
  auto const p = std::make_shared<pool>(fault::none, 2U);
  for (std::size_t w = 0; w != 2; ++w) {
    Asleep ? p->idle(w, w) : p->seated(w, w);
    add_worker(e, p, w);
  }
  for (item* const i : {p->make(meet), p->make(meet)}) e.thread([p, i] { p->push(i); });
  e.finally([p] { p->check(); });
}

/// A task queues another and needs it to run beside it.
void pushed_by_a_task(execution& e) {
  auto const p = std::make_shared<pool>(fault::none, 2U);
  p->seated(0, 0);
  p->seated(1, 1);
  p->entry.push(p->make([](worker& t) {
    t.of->push_own(*t.sits_on(), t.of->make(meet));
    meet(t);
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
  p->entry.push(p->make(meet));
  p->entry.push(p->make(meet));
  add_worker(e, p, 0);
  add_worker(e, p, 1);
  e.finally([p] { p->check(); });
}

/// A task waits for one that stands behind it: its seat goes to a sleeper, and it comes back to that seat, or
/// without one until the other steps down. A third item is pushed when all that goes on.
template<fault Fault = fault::none, bool Third = false>
void waiting(execution& e) {
  auto const p = std::make_shared<pool>(Fault, Third ? 3U : 2U);
  p->seated(0, 0);
  p->idle(1, 1);
  p->people.close(&p->seats[1]); // one seat for two threads
  auto const done = std::make_shared<policy::atomic<bool>>(false);
  p->entry.push(
      p->make([done](worker& t) { t.of->wait(t, [&] { return done->load(std::memory_order_acquire); }); }));
  p->entry.push(p->make([p = p.get(), done](worker&) {
    done->store(true, std::memory_order_release);
    p->workers[0].parker.unpark();
  }));
  add_worker(e, p, 0);
  add_worker(e, p, 1);
  if (Third) e.thread([p] { p->push(p->make(nothing)); });
  e.finally([p] { p->check(); });
}

/// A searcher gives its seat to an unseated thread that is in the middle of a task, which needs what has just
/// been pushed; a third sleeps.
template<fault Fault = fault::none>
void stepping_down(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 1U);
  p->seated(1, 0);
  p->people.count_in(p->workers[0]);
  EXPLORE_ASSERT(!p->people.sit(p->workers[0], nullptr, true));
  p->idle(2, 1);
  e.thread([p] {
    p->meet();
    p->work(p->workers[0]);
  });
  add_worker(e, p, 1);
  add_worker(e, p, 2);
  e.thread([p] { p->push(p->make(meet)); });
  e.finally([p] { p->check(); });
}

/// A second seat, for which there is no thread.
void no_thread(execution& e) {
  auto const p = std::make_shared<pool>(fault::none, 2U);
  p->seated(0, 0);
  p->people.open(&p->seats[1]);
  add_worker(e, p, 0);
  for (item* const i : {p->make(nothing), p->make(nothing)}) e.thread([p, i] { p->push(i); });
  e.finally([p] { p->check(); });
}

struct named {
  char const* name;
  explore::test test;
};

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
    p->push(p->make([](worker& t) { t.of->push_own(*t.sits_on(), t.of->make(nothing)); }));
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
    p->people.enter(guest);
    p->push(p->make(nothing));
    p->people.vacate(guest, leaving::for_good);
    if (p->any_queued()) p->notify();
    p->on_quiet();
  });
  e.thread([p] { p->wait_idle(); });
  e.finally([p] { p->check(); });
}

/// A thread is made for a seat, and the monitor follows the seat to its record.
void followed_by_the_monitor(execution& e) {
  auto const p = std::make_shared<pool>(fault::none, 0U);
  p->people.open(&p->seats[0]);
  e.thread([p] {
    worker& made = p->workers[0];
    made.made_whole.set(1);
    idle_set::call const c = p->people.summon();
    EXPLORE_ASSERT(c && c.sleeper == nullptr);
    p->people.settle(c, made);
  });
  e.thread([p] {
    auto* const t = static_cast<worker*>(p->seats[0].occupant.load(std::memory_order_acquire));
    if (t != nullptr) EXPLORE_ASSERT(t->made_whole.get() == 1);
  });
}

std::vector<named> const all{
    {"one_worker", one_worker<false>},
    {"one_worker, asleep", one_worker<true>},
    {"next_is_called", next_is_called<false>},
    {"next_is_called, asleep", next_is_called<true>},
    {"two_producers", two_producers<false>},
    {"two_producers, asleep", two_producers<true>},
    {"pushed_by_a_task", pushed_by_a_task},
    {"batch", batch<>},
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
  for (named const& each : all) {
    SCOPED_TRACE(each.name);
    explore::result r = explore::run({.max_executions = 30'000}, each.test);
    EXPECT_TRUE(r.ok) << r.message;
    r = explore::run({.random = 10'000}, each.test);
    EXPECT_TRUE(r.ok) << r.message;
  }
}
TEST(idle_set_protocol, needs_every_look) {
  std::vector<named> const faulty{
      {"no second look", one_worker<false, fault::no_second_look>},
      {"no next call", next_is_called<true, fault::no_next_call>},
      {"no word of a batch", batch<fault::no_word_of_a_batch>},
      {"no look in a wait", waiting<fault::no_look_in_a_wait>},
      {"no look when homeless", waiting<fault::no_look_when_homeless, true>},
      {"no look at stepping down", stepping_down<fault::no_look_at_stepping_down>},
      {"no word of quiet", idleness<1, fault::no_word_of_quiet>},
  };
  for (named const& each : faulty) {
    explore::result r = explore::run({.random = 50'000}, each.test);
    if (r.ok) r = explore::run({.max_executions = 100'000}, each.test);
    EXPECT_EQ(r.what, verdict::deadlock) << each.name << r.message;
  }
}

TEST(idle_set_protocol, needs_every_order) {
  std::vector<explore::test> tests;
  for (named const& each : all) tests.push_back(each.test);
  explore::expect_every_weakening_fails(
      {.max_executions = 2'000, .weaken_in = "idle_set.hpp"}, tests,
      {// A load that sees a searcher comes before the end of that search, which is sequentially
       // consistent.
       "[seq_cst -> acq_rel] take_seat", "[seq_cst -> acq_rel] begin_search",
       // A thread that goes idle looks at the state, then at the waiters for idleness: one of the two, the
       // change or the look, would do. The monitor, which is not here, relies on the change.
       "[seq_cst -> acq_rel] activate", "[seq_cst -> acq_rel] vacate", "[seq_cst -> acq_rel] step_down"});
}

} // namespace
