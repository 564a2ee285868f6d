// Tasks that are bound to a seat, while resize() closes or opens that seat, under the explorer: none stays in
// the inbox of a closed seat. The pusher, the closer and the worker do as pool_core::enqueue_for(),
// lifecycle::resize() and the worker do, with the real idle set, parkers and injectors.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "sync/idle_set.hpp"
#include "sync/injector.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>

namespace {

using namespace rubato_test;
using injector = rubato::detail::basic_injector<policy>;
using idle_set = rubato::detail::basic_idle_set<policy>;
using rubato::detail::leaving;

enum class mutant {
  none,
  pushes_late,        ///< the pusher looks at the seat, then pushes
  trusts_its_look,    ///< the pusher does not look at the seat after its push
  empties_early,      ///< the closer empties the inbox, then closes the seat
  empties_nothing,    ///< the closer leaves the inbox to the pusher
  leaves_and_forgets, ///< the worker does not look at the inbox of the seat that it leaves
  opens_silently,     ///< the opener calls no worker for the inbox
};

template<mutant Mutant>
struct pool {
  policy::atomic<unsigned> size{1};
  idle_set people;
  idle_set::seat seat; ///< number 0
  injector inbox, shared;
  idle_set::thread worker;
  injector::node task;
  policy::plain<int> runs{0};
  policy::atomic<bool> ending{false};

  pool() {
    people.open(&seat);
    people.enter(worker); // it is about to look
  }
  [[nodiscard]] injector::node* pop(injector& from) {
    if (from.empty()) return nullptr;
    std::lock_guard const guard(from);
    return from.pop();
  }
  void run() { runs.set(runs.get() + 1); }
  void call() { static_cast<void>(people.unpark_for_seat(&seat, true)); }
  /// lifecycle::retire_seat()
  void retire() {
    while (injector::node* const n = pop(inbox)) shared.push(n);
  }

  void push() {
    if (Mutant != mutant::pushes_late) inbox.push(&task);
    call();
    if (Mutant != mutant::trusts_its_look && seat.closed.load(std::memory_order_relaxed) &&
        size.load(std::memory_order_acquire) == 0)
      retire();
    if (Mutant == mutant::pushes_late) inbox.push(&task);
  }
  void close() {
    size.exchange(0, std::memory_order_seq_cst);
    if (Mutant == mutant::empties_early) retire();
    people.close(&seat);
    if (Mutant != mutant::empties_early && Mutant != mutant::empties_nothing) retire();
  }
  void open() {
    size.exchange(1, std::memory_order_seq_cst);
    people.open(&seat);
    if (Mutant != mutant::opens_silently && !inbox.empty()) call();
  }
  /// Takes from the inbox of the seat where it sits, leaves it, and sleeps until called.
  void work() {
    for (bool called = false;; called = true) {
      bool const last = ending.load(std::memory_order_acquire);
      if (worker.place.load(std::memory_order_acquire) == nullptr) {
        if (last) return;
        worker.parker.park();
        continue;
      }
      if (pop(inbox) != nullptr) run();
      people.vacate(worker, leaving::to_rest, called);
      if (Mutant == mutant::leaves_and_forgets) continue;
      if (seat.closed.load(std::memory_order_relaxed)) retire();
      if (!inbox.empty()) call();
    }
  }
  void end() {
    ending.store(true, std::memory_order_release);
    worker.parker.unpark();
  }
  /// The task has run, or any worker may take it.
  [[nodiscard]] bool has_lost_none() {
    int const found = pop(shared) != nullptr ? 1 : 0;
    return runs.get() + found == 1;
  }
};

/// A seat is closed, and perhaps opened again, while a task is pushed to it and its worker is about to leave.
template<mutant Mutant = mutant::none, bool Opens = false>
void closing(execution& e) {
  auto const p = std::make_shared<pool<Mutant>>();
  auto const left = std::make_shared<policy::atomic<int>>(2);
  auto const done = [p, left] {
    if (left->fetch_sub(1, std::memory_order_acq_rel) == 1) p->end();
  };
  e.thread([p, done] {
    p->push();
    done();
  });
  e.thread([p, done] {
    p->close();
    if (Opens) p->open();
    done();
  });
  e.thread([p] { p->work(); });
  e.finally([p] { EXPLORE_ASSERT(p->has_lost_none()); });
}
/// A seat is opened while a task is pushed to it by a thread that knows the new size already.
template<mutant Mutant = mutant::none>
void opening(execution& e) {
  auto const p = std::make_shared<pool<Mutant>>();
  auto const left = std::make_shared<policy::atomic<int>>(2);
  p->close();
  auto const done = [p, left] {
    if (left->fetch_sub(1, std::memory_order_acq_rel) == 1) p->end();
  };
  e.thread([p, done] {
    p->push();
    done();
  });
  e.thread([p, done] {
    p->open();
    done();
  });
  e.thread([p] { p->work(); });
  e.finally([p] { EXPLORE_ASSERT(p->has_lost_none()); });
}

tests const all{closing<>, closing<mutant::none, true>, opening<>};

TEST(inbox_protocol, leaves_nothing_on_a_closed_seat) {
  expect_all_pass({.max_executions = 100'000, .random = 10'000}, all);
}
TEST(inbox_protocol, needs_every_step) {
  expect_all_fail({closing<mutant::pushes_late>, closing<mutant::trusts_its_look>,
                   closing<mutant::empties_early>, closing<mutant::empties_nothing>,
                   closing<mutant::leaves_and_forgets, true>, opening<mutant::opens_silently>});
}

} // namespace
