// The numbers of requeue entries under the explorer: one thread resumes the task for each entry, and a thread
// that raises the class finds the entry, or the entry is queued in the new class.
#include "explore/explore.hpp"
#include "explore/policy.hpp"
#include "rubato/detail/sync/queue_state.hpp"
#include "rubato/detail/sync/requeue_number.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>

namespace {

using explore::execution;
using explore::policy;

/// A task that is requeued `Times`, each time by the thread that has resumed it.
struct requeued {
  rubato::detail::basic_requeue_number<policy> number;
  policy::plain<int> resumed{0};                        // by the thread that has the task
  std::array<policy::atomic<std::uint32_t>, 3> queue{}; // the numbers of the entries in it
  policy::atomic<int> stale{0};
  int times;
  explicit requeued(int t)
      : times(t) {}

  void requeue() {
    std::uint32_t const n = number.next();
    number.offer(n);
    queue[n / 2].store(n, std::memory_order_release);
  }
  void resume() {
    resumed.set(resumed.get() + 1);
    if (resumed.get() != times) requeue();
  }
  void work() {
    for (auto& place : queue) {
      std::uint32_t const n = place.exchange(0, std::memory_order_acquire);
      if (n == 0) continue;
      if (number.take(n))
        resume();
      else
        stale.fetch_add(1);
    }
  }
};

template<int Times>
void worker_and_claimer(execution& e) {
  auto const w = std::make_shared<requeued>(Times);
  e.thread([w] {
    w->requeue();
    for (int i = 0; i != Times; ++i) w->work();
  });
  e.thread([w] {
    if (w->number.claim()) w->resume();
  });
  e.finally([w] {
    for (int i = 0; i != Times; ++i) w->work();
    EXPLORE_ASSERT(w->resumed.get() == Times && !w->number.is_ready());
    EXPLORE_ASSERT(w->stale.load() <= 1);
  });
}

/// The entry is queued in the task's class while a thread raises that.
void requeued_while_raised(execution& e) {
  struct world {
    rubato::detail::basic_requeue_number<policy> number;
    rubato::detail::basic_queue_state<policy> state;
    policy::plain<bool> in_high{false}, found{false};
  };
  auto const w = std::make_shared<world>();
  w->state.set_class(rubato::priority::low);
  e.thread([w] {
    w->number.offer(w->number.next());
    w->in_high.set(w->state.linked_class() == rubato::priority::high);
  });
  e.thread([w] {
    static_cast<void>(w->state.raise(rubato::priority::high));
    w->found.set(w->number.is_ready());
  });
  e.finally([w] { EXPLORE_ASSERT(w->in_high.get() || w->found.get()); });
}

void entry_is_stale_once_it_was_claimed(execution& e) {
  auto const w = std::make_shared<requeued>(1);
  e.thread([w] { w->requeue(); });
  e.thread([w] {
    std::uint32_t const n = w->queue[1].load(std::memory_order_acquire);
    if (n == 0) return;
    EXPLORE_ASSERT(!w->number.is_stale(n) && w->number.claim() && w->number.is_stale(n));
    EXPLORE_ASSERT(!w->number.take(n) && !w->number.claim());
  });
}

/// As an entry that was queued before the numbers went round: its queue does not order it behind the offer.
void old_entry_has_the_newest_number(execution& e) {
  auto const w = std::make_shared<requeued>(1);
  e.thread([w] {
    w->resumed.set(1);
    w->number.offer(w->number.next());
  });
  e.thread([w] {
    constexpr std::uint32_t first = 3;
    if (w->number.take(first)) EXPLORE_ASSERT(w->resumed.get() == 1);
  });
}

explore::tests const all{worker_and_claimer<1>, worker_and_claimer<2>, requeued_while_raised,
                         entry_is_stale_once_it_was_claimed, old_entry_has_the_newest_number};

TEST(requeue_number_protocol, resumes_once_for_each_entry) {
  explore::expect_all_pass({.max_executions = 100'000, .random = 10'000}, all);
}
TEST(requeue_number_protocol, needs_every_order) {
  explore::expect_every_weakening_fails({.max_executions = 20'000, .weaken_in = "requeue_number.hpp"}, all);
}

} // namespace
