// Whether a pool is open, ends or is closed, and how many workers it is to have: what every thread reads.
// sched/life/lifecycle.hpp changes it. docs/design/lifecycle.md
//
// States: open, draining, discarding, closed. A shutdown leads from each to one further on, resize() back to
// open. ending_ says whether the pool drains or discards, and changes under mutex_. entrance_ says whether
// the pool is closed, and changes under deciding_. Any thread reads both. A thread that holds deciding_ keeps
// new work out while it decides what to do when nothing runs: to drop what is stuck, or to close the pool.
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/work/pool_port.hpp"

#include <mutex>
#include <stop_token>

namespace rubato::detail {

enum class ending : unsigned char { none, drain, discard };
/// For new work. deciding: it waits until the entrance is open or closed.
enum class entrance : unsigned char { open, deciding, closed };

class life_state {
  friend class lifecycle;

  // Read by every push.
  announced<unsigned> target_;
  announced<ending> ending_;
  announced<entrance> entrance_; // closed: after shutdown, until resize()
  announced<bool> destroyed_;
  // Written while the pool runs.
  alignas(64) mutex mutex_; // resize and shutdown take turns; never held while user code runs
  mutex deciding_;          // held while the entrance is `deciding`; taken after mutex_, if both are
  // A discard was requested since the pool began to end. Guarded by mutex_, without an annotation: the
  // analysis does not see a std::unique_lock.
  bool was_discarded_ = false;
  relaxed<bool> abandoned_;
  relaxed<bool> program_ends_;
  announced<unsigned> dropping_;   // threads that drop what they have withdrawn; raised under deciding_
  announced<unsigned> end_checks_; // calls of end_if_quiet() that have not been served
  mutable mutex stop_mutex_;
  std::stop_source stop_ RUBATO_GUARDED_BY(stop_mutex_);

public:
  life_state();
  life_state(life_state const&) = delete;
  ~life_state();

  [[nodiscard]] unsigned size() const noexcept { return target_.get(); }
  /// Holds the size still.
  [[nodiscard]] std::unique_lock<mutex> hold() { return std::unique_lock(mutex_); }

  /// The threads do not exist any more: fork() made this process.
  void abandon() noexcept { abandoned_.set(true); }
  [[nodiscard]] bool is_abandoned() const noexcept { return abandoned_.get(); }
  /// The pool's destructor has begun.
  [[nodiscard]] bool is_destroyed() const noexcept { return destroyed_.get(); }
  /// By the exit handler: tasks that are queued in the closed pool are dropped. A task that is queued at
  /// the same time may be dropped or not.
  void program_ends() noexcept { program_ends_.set(true); }
  [[nodiscard]] bool drops_everything() const noexcept {
    return entrance_.peek() == entrance::closed && program_ends_.get();
  }
  [[nodiscard]] std::stop_token stop_token() const noexcept;

  /// No wait for time begins any more. Pairs with request_shutdown(): a task joins the owned tasks before it
  /// asks, and the requester writes ending_ before it walks them.
  [[nodiscard]] bool is_ending() const noexcept { return has_begun_to_end() || is_closed(); }
  [[nodiscard]] bool has_begun_to_end() const noexcept { return ending_.get() != ending::none; }
  /// The same as a hint: a caller that comes at the same time as the request counts as one that came before.
  [[nodiscard]] bool seems_to_end() const noexcept { return ending_.peek() != ending::none; }
  /// What has not begun is dropped, and waits end early. Pairs with request_shutdown(), which writes ending_
  /// before it wakes the waiters and walks the owned tasks.
  [[nodiscard]] bool is_discarding() const noexcept { return ending_.get() == ending::discard; }
  [[nodiscard]] bool is_closed() const noexcept { return entrance_.get() == entrance::closed; }
  /// For new work: is the pool closed? If a thread is about to decide that, waits for the decision.
  [[nodiscard]] bool stays_closed() noexcept;
  /// The pool is closed, and refuses new work. After the program's end the global pool takes it, to drop it.
  [[nodiscard]] bool refuses_work() noexcept {
    return entrance_.get() != entrance::open && !program_ends_.get() && stays_closed();
  }
};

/// Does any pool that this thread is a member of discard?
[[nodiscard]] bool discarded(thread_context const& runner) noexcept;

} // namespace rubato::detail
