// Workers that do as the pool's do (src/sched/run/worker.cpp), with the real idle set, parkers and
// quiescence, around the queues that a test brings along. A task that no thread is called for is a deadlock.
#pragma once

#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "sync/idle_set.hpp"
#include "sync/parker.hpp"
#include "sync/quiet.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace rubato_test {

using idle_set = rubato::detail::basic_idle_set<policy>;
using quiet = rubato::detail::basic_quiet<policy>;
using rubato::detail::leaving;

/// What the workers leave out, each of which must be found.
enum class fault {
  none,
  no_second_look,           // after a seat was left for want of work
  no_next_call,             // by the last searcher, when it has found something
  no_look_when_unseated,    // if a seat was given to a thread that was about to go idle without one
  no_look_at_stepping_down, // by a searcher that gives its seat away
  no_word_of_quiet,         // to the threads that wait until it is
  no_word_of_a_batch,       // that was moved from queue to queue
  no_word_of_a_move,        // of what stood in the queue of a seat that was closed
  no_look_in_a_wait,        // after the seat was left for a wait
  looks_at_one_priority,    // in the second look: high priority
};

struct seat : idle_set::seat {
  policy::plain<int> used{0}; ///< written by the occupant, and so by one at a time
};

template<class Pool>
struct basic_worker : idle_set::thread {
  Pool* of = nullptr;
  bool resting = false;
  policy::plain<int> made_whole{0};       ///< before it gets a seat
  policy::atomic<std::uint64_t> began{0}; ///< to run after it had searched; its own to change
  [[nodiscard]] auto* sits_on() const {
    return static_cast<typename Pool::seat_type*>(place.load(std::memory_order_acquire));
  }
};

/// What is queued: a node of the queues with a body.
template<class Pool, class Node>
struct basic_item : Node {
  std::function<void(basic_worker<Pool>&)> body;
  policy::plain<int> runs{0};
};

/// Base of a test's pool, which has the queues: any_queued(); next(seat), what a worker takes at a task
/// boundary; find(seat), what it takes when it has searched. It may have a second_look() of its own.
template<class Pool, class Node, class Seat, std::size_t Workers>
struct worker_pool {
  using worker = basic_worker<Pool>;
  using item = basic_item<Pool, Node>;
  using seat_type = Seat;

  fault leaves_out;
  idle_set threads;
  std::array<Seat, 2> seats;
  std::array<worker, Workers> workers;
  std::array<item, 4> items;
  std::size_t made = 0;
  std::size_t expected; ///< so many items end the pool
  std::size_t runs = 0;
  policy::atomic<bool> ending{false};
  quiet idleness;
  policy::atomic<int> together{0};
  policy::atomic<int> runs_seen{0};

  worker_pool(fault f, std::size_t n)
      : leaves_out(f)
      , expected(n) {
    for (worker& w : workers) w.of = &self();
  }

  Pool& self() { return static_cast<Pool&>(*this); }
  [[nodiscard]] Pool const& self() const { return static_cast<Pool const&>(*this); }

  // Before the threads begin
  void seated(std::size_t w, std::size_t s) {
    threads.open(&seats[s]);
    threads.enter(workers[w]);
    EXPLORE_ASSERT(workers[w].sits_on() == &seats[s]);
  }
  void asleep(std::size_t w, std::size_t s) {
    seated(w, s);
    threads.vacate(workers[w], leaving::to_rest);
    workers[w].resting = true;
  }

  item* make(std::function<void(worker&)> body) {
    item* const i = &items[made++];
    i->body = std::move(body);
    return i;
  }
  void notify() {
    if (threads.wanted() == idle_set::want::worker) call();
  }
  void call() {
    idle_set::call const c = threads.unpark_for_seat();
    if (!c || c.sleeper != nullptr) return;
    threads.give_up(c); // as if no thread could be made
    if (self().any_queued() && threads.has_idle()) notify();
  }
  [[nodiscard]] bool second_look() const { return self().any_queued(); }

  // Working
  void boundary(worker& t) {
    if (threads.has_unseated() && t.sits_on() != nullptr && threads.step_down(t)) t.resting = true;
  }
  void run(worker& t, item& i) {
    i.runs.set(i.runs.get() + 1);
    i.body(t);
    runs_seen.fetch_add(1, std::memory_order_relaxed);
    if (++runs == expected) {
      ending.store(true, std::memory_order_release);
      for (worker& w : workers) w.parker.unpark();
    }
    boundary(t);
  }
  void work(worker& t) {
    bool searching = false;
    for (;;) {
      Seat* const s = t.sits_on();
      if (s == nullptr) {
        if (!std::exchange(t.resting, true)) { // unseated at the end of its task
          bool const given = threads.vacate(t, leaving::to_rest) != nullptr; // a seat, in this very moment
          if (given && leaves_out != fault::no_look_when_unseated && self().any_queued()) notify();
        }
        if (ending.load(std::memory_order_acquire)) return;
        if (t.sits_on() == nullptr) t.parker.park();
        continue;
      }
      if (std::exchange(t.resting, false)) searching = true; // called
      s->used.set(s->used.get() + 1);
      if (item* const i = searching ? nullptr : self().next(*s)) {
        run(t, *i);
        continue;
      }
      if (!searching) searching = threads.begin_search(1);
      if (self().any_queued()) {
        bool const last = searching && threads.end_search();
        if (std::exchange(searching, false))
          t.began.store(t.began.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        item* const i = self().find(*s);
        if (last && i != nullptr && leaves_out != fault::no_next_call && self().any_queued()) notify();
        if (i != nullptr) {
          run(t, *i);
          continue;
        }
        searching = threads.begin_search(1);
      }
      on_quiet();
      if (searching && threads.has_unseated()) {
        searching = false;
        if (leaves_out == fault::no_look_at_stepping_down)
          static_cast<void>(threads.end_search());
        else if (threads.end_search() && self().any_queued())
          notify();
        boundary(t);
        continue;
      }
      s->used.set(s->used.get() + 1);
      threads.vacate(t, leaving::to_rest, std::exchange(searching, false));
      t.resting = true;
      if (leaves_out != fault::no_second_look && self().second_look()) notify();
      on_quiet();
    }
  }

  // Idleness
  [[nodiscard]] bool quiescent() const {
    return idleness.holds(
        [this] {
          std::uint64_t n = 0;
          for (worker const& w : workers) n += w.began.load(std::memory_order_acquire);
          return n;
        },
        [this] { return !threads.no_thread_runs(); }, [this] { return self().any_queued(); });
  }
  void on_quiet() {
    if (leaves_out != fault::no_word_of_quiet && threads.no_thread_runs() && idleness.is_awaited())
      idleness.notify_all();
  }
  void wait_idle() {
    quiet::announcement const announced(idleness);
    for (;;) {
      std::uint32_t const changes = idleness.changes();
      if (quiescent()) return;
      idleness.sleep(changes);
    }
  }

  /// Ends only when two items are in it: no thread may sleep while the other one is queued.
  void meet() {
    together.fetch_add(1, std::memory_order_relaxed);
    while (together.load(std::memory_order_relaxed) < 2) policy::pause();
  }
  // Bodies of items
  static void nothing(worker& /*t*/) {}
  static void meets(worker& t) { t.of->meet(); }

  void check() {
    EXPLORE_ASSERT(runs == expected && !self().any_queued());
    for (std::size_t i = 0; i != made; ++i) EXPLORE_ASSERT(items[i].runs.get() == 1);
  }
};

template<class Pool>
void add_worker(execution& e, std::shared_ptr<Pool> const& p, std::size_t w) {
  e.thread([p, w] { p->work(p->workers[w]); });
}

} // namespace rubato_test
