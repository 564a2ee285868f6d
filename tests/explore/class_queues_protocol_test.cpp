// The queues of the classes high and low under the explorer, with the real idle set, parkers and quiescence:
// no wake is lost for a task of any class, the word never says too little, and a pool is not idle too early.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/priority.hpp"
#include "sync/class_queues.hpp"
#include "sync/idle_set.hpp"
#include "sync/parker.hpp"
#include "sync/quiet.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace {

using explore::execution;
using explore::policy;
using explore::verdict;
using class_queues = rubato::detail::basic_class_queues<policy>;
using idle_set = rubato::detail::basic_idle_set<policy>;
using rubato::priority;
using rubato::detail::class_lane;
using rubato::detail::leaving;

constexpr auto high = priority::high, low = priority::low;

struct pool;
struct worker;

struct item : class_queues::node {
  std::function<void(worker&)> body;
  policy::plain<int> runs{0};
};

struct worker : idle_set::thread {
  pool* of = nullptr;
  bool resting = false;
  policy::atomic<std::uint64_t> began{0}; ///< to run after it had searched; its own to change
};

/// What the workers leave out, each of which must be found.
enum class fault {
  none,
  no_second_look,  // after a seat was left for want of work
  looks_at_queues, // in that look, without the word: but only at those of the class high
  no_next_call,    // by the last searcher, when it has found something
};

/// The workers do as the pool's do, with tasks of the two classes only.
struct pool {
  fault leaves_out;
  idle_set people;
  class_queues queues;
  std::array<idle_set::seat, 2> seats;
  std::array<worker, 2> workers;
  std::array<item, 4> items;
  std::size_t made = 0;
  std::size_t expected; ///< so many items end the pool
  std::size_t runs = 0;
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
  void seated(std::size_t w) {
    people.open(&seats[w]);
    people.enter(workers[w]);
  }
  void idle(std::size_t w) {
    seated(w);
    people.vacate(workers[w], leaving::to_rest);
    workers[w].resting = true;
  }

  item* make(std::function<void(worker&)> body) {
    item* const i = &items[made++];
    i->body = std::move(body);
    return i;
  }
  void push(item* i, priority c, class_lane l = class_lane::tasks) {
    queues.push(i, c, l);
    notify();
  }
  void notify() {
    if (people.wanted() != idle_set::want::worker) return;
    idle_set::call const c = people.summon();
    if (c && c.sleeper == nullptr) people.give_up(c);
  }
  item* find() {
    auto* i = static_cast<item*>(queues.pop(high));
    return i != nullptr ? i : static_cast<item*>(queues.pop(low));
  }
  [[nodiscard]] bool finds_in_second_look() const {
    return leaves_out == fault::looks_at_queues ? queues.pushed(high) != queues.popped(high)
                                                : queues.has_ready();
  }

  void run(item& i, worker& t) {
    i.runs.set(i.runs.get() + 1);
    i.body(t);
    runs_seen.fetch_add(1, std::memory_order_relaxed);
    if (++runs != expected) return;
    ending.store(true, std::memory_order_release);
    for (worker& w : workers) w.parker.unpark();
  }
  void work(worker& t) {
    bool searching = false;
    for (;;) {
      if (t.place.load(std::memory_order_acquire) == nullptr) {
        if (ending.load(std::memory_order_acquire)) return;
        t.parker.park();
        continue;
      }
      if (std::exchange(t.resting, false)) searching = true; // called
      if (!searching && queues.any())
        if (item* const i = find()) {
          run(*i, t);
          continue;
        }
      if (!searching) searching = people.begin_search(1);
      if (queues.has_ready()) {
        bool const last = searching && people.end_search();
        if (std::exchange(searching, false))
          t.began.store(t.began.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        item* const i = find();
        if (last && i != nullptr && leaves_out != fault::no_next_call && queues.has_ready()) notify();
        if (i != nullptr) {
          run(*i, t);
          continue;
        }
        searching = people.begin_search(1);
      }
      on_quiet();
      people.vacate(t, leaving::to_rest, std::exchange(searching, false));
      t.resting = true;
      if (leaves_out != fault::no_second_look && finds_in_second_look()) notify();
      on_quiet();
    }
  }

  // Idleness
  void on_quiet() {
    if (people.no_thread_runs() && quiet.is_awaited()) quiet.wake_all();
  }
  void wait_idle() {
    decltype(quiet)::announcement const announced(quiet);
    for (;;) {
      std::uint32_t const changes = quiet.changes();
      auto const begun = [this] {
        std::uint64_t n = 0;
        for (worker const& w : workers) n += w.began.load(std::memory_order_acquire);
        return n;
      };
      if (quiet.holds(
              begun, [this] { return !people.no_thread_runs(); }, [this] { return queues.has_ready(); }))
        return;
      quiet.sleep(changes);
    }
  }

  /// Ends only when two items are in it: no thread may sleep while the other one is queued.
  void meet() {
    together.fetch_add(1, std::memory_order_relaxed);
    while (together.load(std::memory_order_relaxed) < 2) policy::pause();
  }
  void check() {
    EXPLORE_ASSERT(runs == expected && !queues.has_ready());
    EXPLORE_ASSERT(!queues.any() && !queues.any(high) && !queues.any(low));
    for (std::size_t i = 0; i != made; ++i) EXPLORE_ASSERT(items[i].runs.get() == 1);
  }
};

void nothing(worker&) {}
void meet(worker& t) { t.of->meet(); }

void add_worker(execution& e, std::shared_ptr<pool> const& p, std::size_t w) {
  e.thread([p, w] { p->work(p->workers[w]); });
}

/// A worker is on its way to sleep, or has long been there, when a task is pushed.
template<bool Asleep, priority Class, class_lane Lane = class_lane::tasks, fault Fault = fault::none>
void one_worker(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 1U);
  Asleep ? p->idle(0) : p->seated(0);
  add_worker(e, p, 0);
  e.thread([p] { p->push(p->make(nothing), Class, Lane); });
  e.finally([p] { p->check(); });
}

/// Two producers, one task of either class, and two workers that sleep or are about to; both are needed.
template<bool Asleep, fault Fault = fault::none>
void two_producers(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 2U);
  for (std::size_t w = 0; w != 2; ++w) {
    Asleep ? p->idle(w) : p->seated(w);
    add_worker(e, p, w);
  }
  e.thread([p, i = p->make(meet)] { p->push(i, high); });
  e.thread([p, i = p->make(meet)] { p->push(i, low); });
  e.finally([p] { p->check(); });
}

/// A task queues one of the other class and needs it to run beside it.
template<priority Class>
void pushed_by_a_task(execution& e) {
  auto const p = std::make_shared<pool>(fault::none, 2U);
  p->seated(0);
  p->seated(1);
  p->queues.push(p->make([](worker& t) {
    t.of->push(t.of->make(meet), Class == high ? low : high);
    meet(t);
  }),
                 Class, class_lane::tasks);
  add_worker(e, p, 0);
  add_worker(e, p, 1);
  e.finally([p] { p->check(); });
}

/// Both lanes of a class hold a task: one is called for the first, and the next for the second.
template<fault Fault = fault::none>
void next_is_called(execution& e) {
  auto const p = std::make_shared<pool>(Fault, 2U);
  for (std::size_t w = 0; w != 2; ++w) {
    p->idle(w);
    add_worker(e, p, w);
  }
  e.thread([p] {
    p->push(p->make(meet), low, class_lane::tasks);
    p->push(p->make(meet), low, class_lane::events);
  });
  e.finally([p] { p->check(); });
}

/// A thread that waits until the pool is idle comes back, and not before a task and the one that it queues
/// have run.
template<priority First>
void idleness(execution& e) {
  auto const p = std::make_shared<pool>(fault::none, 2U);
  p->seated(0);
  add_worker(e, p, 0);
  e.thread([p] {
    p->push(p->make([](worker& t) { t.of->push(t.of->make(nothing), First == high ? low : high); }), First);
    p->wait_idle();
    EXPLORE_ASSERT(p->runs_seen.load(std::memory_order_relaxed) == 2);
  });
  e.finally([p] { p->check(); });
}

/// The queues alone. `pushed`: so many tasks are.
struct alone {
  class_queues queues;
  std::array<item, 2> items;
  policy::atomic<int> pushed{0};
  void push() {
    queues.push(&items[0], high, class_lane::tasks);
    pushed.store(1, std::memory_order_release);
    queues.push(&items[1], low, class_lane::events);
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

struct named {
  char const* name;
  explore::test test;
};

std::vector<named> const all{
    {"high", one_worker<false, high>},
    {"low", one_worker<false, low>},
    {"high, asleep", one_worker<true, high>},
    {"low, asleep", one_worker<true, low>},
    {"high event", one_worker<false, high, class_lane::events>},
    {"low event", one_worker<false, low, class_lane::events>},
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

TEST(class_queues_protocol, loses_no_wake_and_says_never_too_little) {
  for (named const& each : all) {
    SCOPED_TRACE(each.name);
    explore::result r = explore::run({.max_executions = 5'000}, each.test);
    EXPECT_TRUE(r.ok) << r.message;
    r = explore::run({.random = 4'000}, each.test);
    EXPECT_TRUE(r.ok) << r.message;
  }
}

TEST(class_queues_protocol, needs_every_look) {
  std::vector<named> const faulty{
      {"no second look", one_worker<false, low, class_lane::tasks, fault::no_second_look>},
      {"a look at one class", one_worker<false, low, class_lane::tasks, fault::looks_at_queues>},
      {"no next call", next_is_called<fault::no_next_call>},
  };
  for (named const& each : faulty) {
    explore::result r = explore::run({.random = 50'000}, each.test);
    if (r.ok) r = explore::run({.max_executions = 100'000}, each.test);
    EXPECT_EQ(r.what, verdict::deadlock) << each.name << r.message;
  }
}

TEST(class_queues_protocol, needs_every_order) {
  std::vector<explore::test> tests;
  for (named const& each : all) tests.push_back(each.test);
  explore::expect_every_weakening_fails(
      {.max_executions = 2'000, .weaken_in = "class_queues.hpp"}, tests,
      {// The explorer puts all sequentially consistent accesses into one order that agrees with what is read;
       // C++20 promises that to the thread that asks for idleness only by this release.
       "[release -> relaxed] pop"});
}

} // namespace
