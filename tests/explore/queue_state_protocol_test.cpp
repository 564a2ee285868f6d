// The queue state under the explorer: offered work is run once, by the thread that pops it or by the
// waiter that claims it in the queue; it is in the queue once, and the queue lets go of it once.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/sync/pinned_ptr.hpp"
#include "rubato/detail/sync/queue_state.hpp"
#include "rubato/priority.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace {

using namespace rubato_test;

constexpr auto relaxed = std::memory_order_relaxed;

/// Forgets that what was claimed is still in its queue.
template<class Policy>
class forgets_its_queue {
  static constexpr std::uint8_t queued = 1, ready = 2;
  typename Policy::template atomic<std::uint8_t> bits_{0};

public:
  using claimed = typename rubato::detail::basic_queue_state<Policy>::claimed;
  using taken = typename rubato::detail::basic_queue_state<Policy>::taken;
  bool offer() { return (bits_.fetch_or(queued | ready) & queued) == 0; }
  claimed claim() {
    std::uint8_t bits = queued | ready;
    return bits_.compare_exchange_strong(bits, 0) ? claimed::first : claimed::no;
  }
  taken take() {
    std::uint8_t const bits = bits_.exchange(0);
    return {(bits & ready) != 0, bits == 0};
  }
  bool drop_if_stale() { return bits_.load() == 0; }
};

/// Work that is to run so many times, each time offered anew by the thread that ran it.
template<class Ticket>
struct work {
  Ticket entry;
  policy::atomic<int> holders;
  policy::plain<int> runs{0};
  policy::plain<int> link{0}; // the queue's, in the work
  explicit work(int h)
      : holders(h) {}
};

template<template<class> class Ticket = rubato::detail::basic_queue_state>
struct state {
  using queue_state = Ticket<policy>;

  std::unique_ptr<frame<work<queue_state>>> job;
  policy::atomic<int> queue{0}; // how often it is in there
  int const to_run;
  int ran = 0;

  /// `others`: how many threads hold the work beside its producer.
  state(int runs, int others)
      : job(std::make_unique<frame<work<queue_state>>>(1 + others))
      , to_run(runs) {}

  work<queue_state>& it() { return **job; }
  void release() {
    if (it().holders.fetch_sub(1, std::memory_order_acq_rel) == 1) job.reset();
  }
  void push() {
    it().link.set(1);
    EXPLORE_ASSERT(queue.exchange(1, std::memory_order_release) == 0);
  }
  void offer() {
    if (it().entry.offer()) push();
  }
  void run() {
    int const n = it().runs.get() + 1;
    it().runs.set(n);
    ran = n;
    if (n < to_run)
      offer();
    else
      release(); // the producer's
  }
  bool pop() {
    int expected = 1;
    if (!queue.compare_exchange_strong(expected, 0, std::memory_order_acquire, relaxed)) return false;
    EXPLORE_ASSERT(it().link.get() == 1);
    it().link.set(0);
    return true;
  }

  /// A worker.
  void work_once() {
    if (!pop()) return;
    auto const t = it().entry.take();
    if (t.ready) run();
    if (t.stale) release();
  }
  /// A thread that waits for it, and so holds it.
  void claim_once() {
    switch (it().entry.claim()) {
    case queue_state::claimed::no:
      return;
    case queue_state::claimed::first:
      it().holders.fetch_add(1, relaxed);
      break;
    case queue_state::claimed::again:
      break;
    }
    run();
  }
  /// A thread that clears the queue of what was claimed.
  void sweep_once() {
    if (!pop()) return;
    if (it().entry.drop_if_stale())
      release();
    else
      push();
  }
  void check() {
    while (queue.load(relaxed) != 0) work_once();
    EXPLORE_ASSERT(ran == to_run);
    EXPLORE_ASSERT(job == nullptr);
  }
};

/// A worker and a waiter.
template<template<class> class Ticket, int Runs>
void worker_and_claimer(execution& e) {
  auto const s = std::make_shared<state<Ticket>>(Runs, 1);
  s->offer();
  e.thread([s] {
    for (int i = 0; i != Runs; ++i) s->work_once();
  });
  e.thread([s] {
    for (int i = 0; i != Runs; ++i) s->claim_once();
    s->release();
  });
  e.finally([s] { s->check(); });
}

/// Two waiters, and two workers.
template<int Runs>
void two_of_each(execution& e) {
  auto const s = std::make_shared<state<>>(Runs, 2);
  s->offer();
  for (int t = 0; t != 2; ++t) {
    e.thread([s] { s->work_once(); });
    e.thread([s] {
      s->claim_once();
      s->release();
    });
  }
  e.finally([s] { s->check(); });
}

/// A thread sweeps claimed entries.
template<int Runs>
void sweeping(execution& e) {
  auto const s = std::make_shared<state<>>(Runs, 1);
  s->offer();
  e.thread([s] {
    for (int i = 0; i != Runs; ++i) s->claim_once();
    s->release();
  });
  e.thread([s] { s->sweep_once(); });
  e.thread([s] { s->work_once(); });
  e.finally([s] { s->check(); });
}

/// The work is offered by another thread than the one that ran it last, as when it awaits something.
void offered_from_elsewhere(execution& e) {
  struct waits {
    state<> s{2, 2};
    policy::atomic<bool> suspended{false};
    bool offered = false;
    void run() {
      auto& it = s.it();
      int const n = it.runs.get() + 1;
      it.runs.set(n);
      s.ran = n;
      if (n == 2)
        s.release();
      else
        suspended.store(true, std::memory_order_release);
    }
    void work_once() {
      if (!s.pop()) return;
      auto const t = s.it().entry.take();
      if (t.ready) run();
      if (t.stale) s.release();
    }
    void wake() {
      if (offered || !suspended.load(std::memory_order_acquire)) return;
      offered = true;
      s.offer();
    }
  };
  auto const w = std::make_shared<waits>();
  w->s.offer();
  e.thread([w] {
    w->work_once();
    w->work_once();
  });
  e.thread([w] {
    auto const c = w->s.it().entry.claim();
    using claimed = rubato::detail::basic_queue_state<policy>::claimed;
    if (c == claimed::first) w->s.it().holders.fetch_add(1, relaxed);
    if (c != claimed::no) w->run();
    w->s.release();
  });
  e.thread([w] {
    w->wake();
    w->s.release();
  });
  e.finally([w] {
    while (w->s.queue.load(relaxed) != 0) w->work_once();
    w->wake();
    while (w->s.queue.load(relaxed) != 0) w->work_once();
    EXPLORE_ASSERT(w->s.ran == 2);
    EXPLORE_ASSERT(w->s.job == nullptr);
  });
}

/// Work of low priority is raised while a thread offers it, workers take it, and a waiter claims it. There
/// is a queue for each priority; a raise that finds the work queued puts an entry into the queue of the
/// priority high, which claims the work as a waiter does.
struct raised {
  using queue_state = rubato::detail::basic_queue_state<policy>;
  using raising = queue_state::raising;
  queue_state entry;
  policy::atomic<int> in_high{0}, in_low{0}, entries{0}; // how often it is there
  policy::atomic<int> ran{0};
  policy::atomic<bool> was_raised{false};

  void offer() {
    auto const o = entry.offer();
    if (o.is_behind) entries.store(1, std::memory_order_release);
    if (!o) return;
    EXPLORE_ASSERT(o.level != rubato::priority::normal);
    (o.level == rubato::priority::high ? in_high : in_low).store(1, std::memory_order_release);
  }
  void raise() {
    raising const r = entry.raise(rubato::priority::high);
    EXPLORE_ASSERT(r != raising::needless);
    if (r == raising::of_queued) entries.store(1, std::memory_order_release);
    was_raised.store(true, std::memory_order_release);
  }
  static bool pop(policy::atomic<int>& queue) {
    int expected = 1;
    return queue.compare_exchange_strong(expected, 0, std::memory_order_acquire, relaxed);
  }
  void run() { ran.fetch_add(1, relaxed); }
  void take() {
    if (entry.take().ready) run();
  }
  void work_high() {
    if (pop(in_high)) take();
    if (pop(entries) && entry.claim() != queue_state::claimed::no) run();
  }
  void work_low() {
    if (pop(in_low)) take();
  }
};

/// Whatever comes first: after the raise the work has run, or is in the queue of high priority.
void offered_and_raised(execution& e) {
  auto const w = std::make_shared<raised>();
  w->entry.set_priority(rubato::priority::low);
  e.thread([w] { w->offer(); });
  e.thread([w] { w->raise(); });
  e.finally([w] {
    w->work_high(); // the worker never looks into the other queue
    EXPLORE_ASSERT(w->ran.load(relaxed) == 1);
    EXPLORE_ASSERT(w->entry.level() == rubato::priority::high);
    w->work_low();
    EXPLORE_ASSERT(w->ran.load(relaxed) == 1 && !w->entry.is_queued());
    EXPLORE_ASSERT(w->entry.level() == rubato::priority::high); // of its next resumption
  });
}

/// A worker of low priority takes it meanwhile, or a waiter claims it.
template<bool Claims>
void raised_and_run(execution& e) {
  auto const w = std::make_shared<raised>();
  w->entry.set_priority(rubato::priority::low);
  w->offer();
  e.thread([w] { w->raise(); });
  e.thread([w] {
    if (Claims) {
      if (w->entry.claim() != raised::queue_state::claimed::no) w->run();
    } else {
      w->work_low();
    }
  });
  e.thread([w] { w->work_high(); });
  e.finally([w] {
    w->work_high();
    EXPLORE_ASSERT(w->ran.load(relaxed) == 1);
    w->work_low();
    EXPLORE_ASSERT(w->ran.load(relaxed) == 1 && !w->entry.is_queued());
    EXPLORE_ASSERT(w->entry.level() == rubato::priority::high);
  });
}

/// A waiter claims it before or after it is raised, and offers it again while its old entry is queued, as a
/// coroutine does that was suspended.
void raised_and_offered_again(execution& e) {
  auto const w = std::make_shared<raised>();
  w->entry.set_priority(rubato::priority::low);
  w->offer();
  e.thread([w] { w->raise(); });
  e.thread([w] {
    if (w->entry.claim() == raised::queue_state::claimed::no) return;
    w->run();
    w->offer();
  });
  e.finally([w] {
    int const runs = w->ran.load(relaxed); // 1, if the waiter has claimed it
    w->work_high();                        // the worker never looks into the other queue
    EXPLORE_ASSERT(w->ran.load(relaxed) == runs + 1);
    w->work_low();
    EXPLORE_ASSERT(w->ran.load(relaxed) == runs + 1 && !w->entry.is_queued());
  });
}

/// A waiter claims it, and it moves to another pool, whose workers find a second entry. A worker of the old
/// pool, which stands here for low priority, passes it on if that pops the old entry first.
void moved_to_another_pool(execution& e) {
  auto const w = std::make_shared<raised>();
  auto const offer_there = [w] {
    auto const o = w->entry.offer();
    if (o.is_behind) w->entries.store(1, std::memory_order_release);
    if (o.to_queue) w->in_high.store(1, std::memory_order_release);
  };
  w->in_low.store(w->entry.offer().to_queue ? 1 : 0, relaxed);
  auto const claimed = std::make_shared<bool>(false);
  e.thread([w, offer_there, claimed] {
    if (w->entry.claim() == raised::queue_state::claimed::no) return;
    *claimed = true;
    w->run();
    w->entry.leave_behind();
    offer_there();
  });
  e.thread([w, offer_there] {
    if (raised::pop(w->in_low) && w->entry.take().ready) offer_there();
  });
  e.finally([w, claimed] {
    w->work_high(); // no worker looks into the other queue any more
    EXPLORE_ASSERT(w->ran.load(relaxed) == (*claimed ? 2 : 1));
    w->work_low();
    EXPLORE_ASSERT(w->ran.load(relaxed) == (*claimed ? 2 : 1));
  });
}

/// Work that was left behind is offered twice, and a second entry is queued only if none is: what the second
/// offer makes ready runs, whenever the first entry is popped.
template<bool ClearsFirst>
void doubled(execution& e) {
  auto const w = std::make_shared<raised>();
  static_cast<void>(w->entry.offer());
  EXPLORE_ASSERT(w->entry.claim() == raised::queue_state::claimed::first);
  w->entry.leave_behind();
  auto const offer = [w] {
    if (w->entry.offer().is_behind && w->entry.try_double())
      w->entries.fetch_add(1, std::memory_order_release);
  };
  auto const pop = [w] {
    if (!raised::pop(w->entries)) return;
    if (ClearsFirst) w->entry.undouble();
    bool const claims = w->entry.claim() != raised::queue_state::claimed::no;
    if (!ClearsFirst) w->entry.undouble();
    if (claims) w->run();
  };
  offer();
  e.thread([w, offer] { // a waiter, which claims it in place
    if (w->entry.claim() == raised::queue_state::claimed::no) return;
    w->run();
    offer();
  });
  e.thread([pop] { pop(); });
  e.finally([w, pop] {
    pop(), pop();
    EXPLORE_ASSERT(w->ran.load(relaxed) != 0 && w->entries.load(relaxed) == 0 && !w->entry.is_ready());
  });
}

/// Two appends to a strand of one low task: the second, of high priority, raises the first before or after
/// that is linked to the task before it.
void appended(execution& e) {
  struct alignas(8) work {
    raised::queue_state queued;
  };
  struct strand {
    work before, first;
    rubato::detail::basic_pinned_ptr<policy, work> link; // of the first append
    void raise_before(rubato::priority c) {
      static_cast<void>(link.use([c](work& b) { return b.queued.raise(c); }));
    }
  };
  auto const s = std::make_shared<strand>();
  s->before.queued.set_priority(rubato::priority::low);
  s->first.queued.set_priority(rubato::priority::low);
  e.thread([s] {
    rubato::priority const c = s->before.queued.level();
    s->link.link(s->before);
    if (rubato::priority const own = s->first.queued.linked_priority(); own < c) s->raise_before(own);
  });
  e.thread([s] {
    if (s->first.queued.raise(rubato::priority::high) != raised::raising::needless)
      s->raise_before(rubato::priority::high);
  });
  e.finally([s] { EXPLORE_ASSERT(s->before.queued.level() == rubato::priority::high); });
}

template<int Runs>
constexpr auto one_of_each = &worker_and_claimer<rubato::detail::basic_queue_state, Runs>;

tests const all{one_of_each<1>,           one_of_each<2>,        one_of_each<3>,        two_of_each<1>,
                two_of_each<2>,           sweeping<1>,           sweeping<2>,           sweeping<3>,
                offered_from_elsewhere,   offered_and_raised,    raised_and_run<false>, raised_and_run<true>,
                raised_and_offered_again, moved_to_another_pool, doubled<true>,         appended};

TEST(queue_state_protocol, runs_each_offer_once_and_is_left_once) {
  expect_all_pass({.max_executions = 100'000, .random = 10'000}, all);
}
TEST(queue_state_protocol, would_be_queued_twice_without_its_bit) {
  EXPECT_EQ(run({}, worker_and_claimer<forgets_its_queue, 3>).what, verdict::race);
}
TEST(queue_state_protocol, would_lose_work_if_it_claimed_first) {
  expect_all_fail({{"claims first", doubled<false>}});
}
TEST(queue_state_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "queue_state.hpp"}, all,
                               {// What the claimer does before, its offer has published; what it
                                // does afterwards, the count of holders orders.
                                "[acq_rel -> acquire] claim",
                                // A sweep only lets go of its hold, and that acquires.
                                "[acq_rel -> release] drop_if_stale"});
}

} // namespace
