// A thread from outside queues a task, or is refused, while the pool closes, under the explorer: no task is
// left in a closed pool, and the closer does not wait for ever. A drain drops nothing that waits for work
// that has arrived.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "sync/arrivals.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace {

using namespace rubato_test;
using arrivals = rubato::detail::basic_arrivals<policy, 2>;

constexpr auto seq_cst = std::memory_order_seq_cst;

/// What a side leaves out or swaps.
enum class mutant {
  none,
  asks_first,      ///< the thread asks whether the pool is closed, then announces itself
  looks_first,     ///< the closer looks for arrivals, then says that the pool is closed
  closes_unfenced, ///< the closer executes no barrier between these
  ends_silently,   ///< the thread does not ask at the end whether the pool ends
  tells_early,     ///< it asks before it withdraws the announcement
};

/// As lifecycle and quiescence do.
template<bool Asymmetric, mutant Mutant>
struct pool {
  arrivals of_thread;
  policy::atomic<bool> ending{false}, closed{false};
  policy::atomic<std::uint32_t> changed{0};
  policy::plain<int> queued{0}; // the arrival orders it

  void tell() {
    if (!ending.load(seq_cst)) return;
    changed.fetch_add(1, std::memory_order_release);
    policy::futex_wake(changed, 1);
  }
  void arrive() {
    bool is_open = Mutant == mutant::asks_first && !closed.load(seq_cst);
    of_thread.begin(this, Asymmetric);
    if (Mutant != mutant::asks_first) is_open = !closed.load(seq_cst);
    if (is_open) queued.set(queued.get() + 1);
    if (Mutant == mutant::tells_early) tell();
    of_thread.end(Asymmetric);
    if (Mutant != mutant::tells_early && Mutant != mutant::ends_silently) tell();
  }
  [[nodiscard]] bool close() {
    if (Mutant == mutant::looks_first && of_thread.is_at(this)) return false;
    closed.store(true, seq_cst);
    if (Mutant != mutant::closes_unfenced) policy::heavy_barrier();
    if (Mutant == mutant::looks_first || !of_thread.is_at(this)) return true;
    closed.store(false, seq_cst);
    return false;
  }
  void shut_down() {
    ending.store(true, seq_cst);
    while (!close()) {
      std::uint32_t const changes = changed.load(std::memory_order_acquire);
      if (of_thread.is_at(this)) policy::futex_wait(changed, changes);
    }
    queued.set(0); // it has run before, or is dropped
  }
};

template<bool Asymmetric = true, mutant Mutant = mutant::none>
void arrival_at_the_end(execution& e) {
  auto const p = std::make_shared<pool<Asymmetric, Mutant>>();
  e.thread([p] { p->arrive(); });
  e.thread([p] { p->shut_down(); });
  e.finally([p] { EXPLORE_ASSERT(p->queued.get() == 0); });
}

/// A pool closes beside a thread that arrives there within an arrival at another pool.
template<bool Asymmetric = true>
void arrivals_within_each_other(execution& e) {
  auto const p = std::make_shared<pool<Asymmetric, mutant::none>>();
  e.thread([p] {
    p->of_thread.begin(&p->changed, Asymmetric); // an address that is no pool
    p->arrive();
    p->of_thread.end(Asymmetric);
    EXPLORE_ASSERT(p->of_thread.is_empty() && !p->of_thread.is_full());
  });
  e.thread([p] { p->shut_down(); });
  e.finally([p] { EXPLORE_ASSERT(p->queued.get() == 0); });
}

/// The thread goes on to another pool, which it announces in the same place.
template<bool Asymmetric = true>
void arrival_after_another(execution& e) {
  auto const p = std::make_shared<pool<Asymmetric, mutant::none>>();
  e.thread([p] {
    p->arrive();
    p->of_thread.begin(&p->changed, Asymmetric); // an address that is no pool
    p->of_thread.end(Asymmetric);
  });
  e.thread([p] { p->shut_down(); });
  e.finally([p] { EXPLORE_ASSERT(p->queued.get() == 0); });
}

/// A thread queues a task, and another behind it, while a drain drops what waits for nothing that runs.
template<bool Asymmetric, bool KeepsOut>
struct draining_pool {
  arrivals of_thread;
  rubato::detail::basic_mutex<policy> deciding;
  policy::atomic<bool> is_deciding{false}, runs{false};
  policy::plain<int> waiting{0}; // the look orders it

  template<class F>
  void arrive(F queue) {
    of_thread.begin(this, Asymmetric);
    if (is_deciding.load(seq_cst)) rubato::detail::lock_guard const decided(deciding);
    queue();
    of_thread.end(Asymmetric);
  }
  void queue_two() {
    arrive([this] { runs.store(true, seq_cst); });
    arrive([this] { waiting.set(1); });
  }
  void drop_stuck() {
    rubato::detail::lock_guard const guard(deciding);
    is_deciding.store(KeepsOut, seq_cst);
    policy::heavy_barrier();
    if (!of_thread.is_at(this) && !runs.load(seq_cst)) EXPLORE_ASSERT(waiting.get() == 0);
    is_deciding.store(false, seq_cst);
  }
};

template<bool Asymmetric = true, bool KeepsOut = true>
void arrivals_beside_a_drop(execution& e) {
  auto const p = std::make_shared<draining_pool<Asymmetric, KeepsOut>>();
  e.thread([p] { p->queue_two(); });
  e.thread([p] { p->drop_stuck(); });
}

tests const all{arrival_at_the_end<true>,    arrival_at_the_end<false>,    arrivals_within_each_other<true>,
                arrival_after_another<true>, arrivals_beside_a_drop<true>, arrivals_beside_a_drop<false>};

TEST(arrivals_protocol, leaves_nothing_in_a_closed_pool_and_ends) {
  expect_all_pass({.max_executions = 50'000, .random = 10'000}, all);
}
TEST(arrivals_protocol, needs_every_step) {
  expect_all_fail(
      {arrival_at_the_end<true, mutant::asks_first>, arrival_at_the_end<true, mutant::looks_first>,
       arrival_at_the_end<true, mutant::closes_unfenced>, arrival_at_the_end<true, mutant::ends_silently>,
       arrival_at_the_end<true, mutant::tells_early>, arrivals_beside_a_drop<true, false>});
}
TEST(arrivals_protocol, needs_every_order) {
  expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "arrivals.hpp"}, all, {});
}

} // namespace
