// The hand-over of a coroutine between the thread that suspends it and the thread that ends its wait.
// docs/design/coroutines.md
//
// States: setting_up, while the coroutine still runs in await_suspend and the operation may be in its list;
// suspended; over. A thread that takes the operation out of its list, and no other, ends the wait.
//
// Invariant: the coroutine goes on once for each wait. settle() moves setting_up -> suspended, end() moves
// either state -> over; both are one change of phase_, and the later of the two threads resumes the
// coroutine. The change is the last access of a thread that does not resume it.
//
// Ordering: each releases what its thread wrote, and the later one acquires it. A stop request sets
// stop_pending_ and then looks into the list; settle() reads stop_pending_ after the insertion. So the
// request finds the operation, or settle() sees stop_pending_. Two kinds of lists order this. A lock, or one
// word whose changes acquire and release, does so by itself. A list that remove() leaves untouched if the
// operation was never inserted (a timer's shard) stores that mark and reads it seq_cst, as the flag is here
// (Dekker).
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

namespace rubato::detail {

// Not in the class: g++ warns of enumerators in templates that shadow a program's global names.
enum class suspension_phase : unsigned char { setting_up, suspended, over };

/// `remove()` takes the operation out of its list; false: it is not in the list. It is called again for each
/// stop request that finds the wait not over.
template<class Policy>
class basic_suspension {
  using phase = suspension_phase;
  typename Policy::template atomic<phase> phase_{phase::setting_up};
  typename Policy::template atomic<bool> stop_pending_{false};
  typename Policy::template plain<bool> stopped_{false}; // written by the thread that took it out

public:
  /// By the suspending thread, after the insertion. True: the coroutine is suspended, and another thread may
  /// have resumed it already. False: the wait is over, and the caller goes on with the coroutine.
  template<class Remove>
  [[nodiscard]] bool settle(Remove remove) noexcept {
    // seq_cst: pairs with stop(), because the insertion comes before this load, see above.
    if (stop_pending_.load(std::memory_order_seq_cst) && remove()) {
      stopped_.set(true);
      return false;
    }
    phase expected = phase::setting_up;
    // release: pairs with end(), because the thread that ends the wait resumes the coroutine. acquire on
    // failure: that thread has written the result.
    if (phase_.compare_exchange_strong(expected, phase::suspended, std::memory_order_release,
                                       std::memory_order_acquire))
      return true;
    RUBATO_ASSERT_STEP(expected == phase::over, "a coroutine is suspended twice", expected);
    return false;
  }

  /// By the thread that has taken the operation out of its list. True: the caller resumes the coroutine.
  [[nodiscard]] bool end() noexcept {
    // acq_rel: pairs with settle().
    phase const before = phase_.exchange(phase::over, std::memory_order_acq_rel);
    RUBATO_ASSERT_STEP(before != phase::over, "a wait has ended twice", before);
    return before == phase::suspended;
  }

  /// By a stop request. True: the caller resumes the coroutine.
  template<class Remove>
  [[nodiscard]] bool stop(Remove remove) noexcept {
    // seq_cst: pairs with settle(), because this store comes before the look into the list, see above.
    stop_pending_.store(true, std::memory_order_seq_cst);
    if (!remove()) return false;
    stopped_.set(true);
    return end();
  }

  /// By a thread that destroys suspended coroutines. True: it has taken the operation out of its list.
  template<class Remove>
  [[nodiscard]] bool withdraw(Remove remove) noexcept {
    // acquire: pairs with settle(), because the caller destroys what the suspending thread wrote.
    return phase_.load(std::memory_order_acquire) == phase::suspended && remove();
  }

  /// By the thread that resumes the coroutine, before it inserts the operation again.
  void start_again() noexcept {
    // relaxed: it is in no list, so no other thread changes the phase.
    RUBATO_ASSERT_STEP(phase_.load(std::memory_order_relaxed) == phase::over,
                       "a wait begins again that is not over", phase_.load(std::memory_order_relaxed));
    phase_.store(phase::setting_up, std::memory_order_relaxed); // relaxed: it is in no list
  }
  /// By any thread that keeps the coroutine from going on. relaxed: a report, which reads nothing of what
  /// the thread that has ended the wait wrote.
  [[nodiscard]] bool is_over() const noexcept {
    return phase_.load(std::memory_order_relaxed) == phase::over;
  }
  /// By the suspending thread: a stop was requested before the wait.
  void refuse() noexcept { stopped_.set(true); }
  /// By the coroutine, when it goes on: a stop request has ended the wait.
  [[nodiscard]] bool was_stopped() const noexcept { return stopped_.get(); }
};

using suspension = basic_suspension<std_policy>;

} // namespace rubato::detail
