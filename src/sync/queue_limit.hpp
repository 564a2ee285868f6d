// How many tasks may be queued in a pool, and the callers that wait for one to be taken.
//
// used_ counts the tasks that hold capacity, late_ those that outside threads have queued since the pool
// began to end. Invariant: used_ exceeds the limit only by exceed(), late_ stays below its limit but for the
// moment in which a caller takes back what it added. If the count begins anew in that moment it is negative,
// and as many callers more are admitted.
//
// Must not occur: a caller sleeps while capacity is free, and no thread is about to wake it. A caller enters
// the list, then tries again; a thread that gives capacity back subtracts, then looks for callers. The four
// accesses are seq_cst, so the caller gets the capacity or is seen in the list (Dekker). Only the first
// caller is woken, perhaps for two tasks; when it leaves the list it wakes the next one if capacity is left.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/policy.hpp"
#include "sync/parker.hpp"

#include <cstddef>
#include <limits>
#include <optional>

namespace rubato::detail {

/// full: max_queued tasks are queued. refused: the pool is closed, or it ends, and outside threads have
/// queued enough since.
enum class admission : unsigned char { granted, full, refused };

/// A caller that waits, in its frame.
template<class Policy>
struct basic_limit_waiter : list_node<basic_limit_waiter<Policy>> {
  basic_parker<Policy>& parker;
  explicit basic_limit_waiter(basic_parker<Policy>& p) noexcept
      : parker(p) {}
};

template<class Policy>
class basic_queue_limit {
  std::size_t const most_;
  int const most_late_;
  bool const limited_;
  typename Policy::template atomic<int> late_{0};
  typename Policy::template atomic<std::size_t> used_{0};
  typename Policy::template atomic<unsigned> waiting_{0}; // the length of the list
  basic_mutex<Policy> mutex_;
  intrusive_list<basic_limit_waiter<Policy>> waiters_; // guarded by mutex_

  [[nodiscard]] bool take() noexcept {
    std::size_t n = used_.load(std::memory_order_seq_cst); // pairs with release()
    do
      if (n >= most_) return false;
    while (!used_.compare_exchange_weak(n, n + 1, std::memory_order_relaxed)); // relaxed: the load orders it
    return true;
  }

public:
  using waiter = basic_limit_waiter<Policy>;

  basic_queue_limit(std::optional<std::size_t> most, int most_late) noexcept
      : most_(most.value_or(std::numeric_limits<std::size_t>::max()))
      , most_late_(most_late)
      , limited_(most.has_value()) {}

  /// For one task. `late`: the pool ends, and the caller is outside.
  [[nodiscard]] admission try_acquire(bool late) noexcept {
    if (late && !admit_late()) return admission::refused;
    if (!limited_ || take()) return admission::granted;
    if (late) late_.fetch_sub(1, std::memory_order_relaxed);
    return admission::full;
  }
  /// For one task without capacity. False: it is refused.
  [[nodiscard]] bool admit_late() noexcept {
    // relaxed, as all accesses to late_: a count.
    if (late_.fetch_add(1, std::memory_order_relaxed) < most_late_) return true;
    late_.fetch_sub(1, std::memory_order_relaxed);
    return false;
  }
  /// The pool begins to end.
  void restart_late() noexcept { late_.store(0, std::memory_order_relaxed); }

  /// For one task, over the limit.
  void exceed() noexcept { used_.fetch_add(1, std::memory_order_relaxed); }
  /// A task was taken out of a queue.
  void release() noexcept {
    if (!limited_) return;
    std::size_t const before = used_.fetch_sub(1, std::memory_order_seq_cst); // pairs with take()
    RUBATO_ASSERT(before != 0, "a task gives back capacity that it does not hold", before, most_);
    if (waiting_.load(std::memory_order_seq_cst) != 0) unpark_first(); // pairs with enter()
  }

  /// The caller waits: from now on its parker is told of each release, and it tries again before it sleeps.
  void enter(waiter& w) noexcept {
    lock_guard const guard(mutex_);
    RUBATO_ASSERT(limited_, "a caller waits for capacity that is not limited", most_);
    waiters_.push_back(w);
    waiting_.fetch_add(1, std::memory_order_seq_cst); // pairs with release()
  }
  void leave(waiter& w) noexcept {
    lock_guard const guard(mutex_);
    // relaxed: it only looks longer than it is.
    unsigned const before = waiting_.fetch_sub(1, std::memory_order_relaxed);
    RUBATO_ASSERT(before != 0 && !waiters_.empty(), "a caller leaves the list that has not entered it",
                  before);
    waiters_.erase(w);
    // relaxed: the release that woke this caller for a second task comes before, by the lock.
    waiter* const next = waiters_.front();
    if (next != nullptr && used_.load(std::memory_order_relaxed) < most_) next->parker.unpark();
  }
  /// Callers that wait try again: the pool ends, or its size has changed.
  void notify_all() noexcept {
    lock_guard const guard(mutex_);
    waiters_.for_each([](waiter& w) { w.parker.unpark(); });
  }

private:
  [[gnu::noinline]] void unpark_first() noexcept {
    lock_guard const guard(mutex_);
    if (waiter* const w = waiters_.front()) w->parker.unpark();
  }
};

using queue_limit = basic_queue_limit<std_policy>;

} // namespace rubato::detail
