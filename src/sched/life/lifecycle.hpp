// How a pool begins, changes its size and ends. docs/design/lifecycle.md
//
// States: open, draining, discarding, closed. A shutdown leads from each to one further on, resize() back to
// open. ending_ says whether the pool drains or discards, entrance_ whether it is closed; both change under
// mutex_, and any thread reads them. Under deciding_ a thread keeps new work out for as long as it decides
// what to do when nothing runs: to drop what is stuck, to close the pool.
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "work/owned_tasks.hpp"
#include "work/seat.hpp"
#include "work/waiting_routines.hpp"

#include <chrono>
#include <mutex>
#include <stop_token>
#include <vector>

namespace rubato::detail {

class pool_core;
class shutdown_report;

/// Is the calling thread a member of this pool, perhaps beneath what it runs in another?
[[nodiscard]] bool is_member(pool_core const& core) noexcept;

enum class ending : unsigned char { none, drain, discard };
/// For new work. deciding: it waits until the entrance is open or closed.
enum class entrance : unsigned char { open, deciding, closed };

/// What a pool that ends has taken out of the objects that it waited for.
struct withdrawn_work {
  intrusive_list<owned_task> tasks;
  intrusive_list<waiting_routine> routines;
  [[nodiscard]] bool empty() const noexcept { return tasks.empty() && routines.empty(); }
};

class lifecycle {
  pool_core& core_;
  std::vector<int> const cpu_order_; // of the seats; empty: not pinned
  // Read by every push.
  announced<unsigned> target_;
  announced<ending> ending_;
  announced<entrance> entrance_; // closed: after shutdown, until resize()
  announced<bool> destroyed_;
  // Written while the pool runs.
  alignas(64) mutex mutex_; // resize and shutdown take turns; never held while user code runs
  mutex deciding_;          // held while the entrance is `deciding`; within mutex_
  // Since the pool began to end. Guarded by mutex_, as a std::unique_lock, which is not analysed.
  bool was_discarded_ = false;
  relaxed<bool> abandoned_;
  relaxed<bool> program_ends_;
  announced<unsigned> dropping_;   // threads that drop what they have withdrawn; raised under deciding_
  announced<unsigned> end_checks_; // calls of end_if_quiet() that have not been served
  mutable mutex stop_mutex_;
  std::stop_source stop_ RUBATO_GUARDED_BY(stop_mutex_);

  unsigned set_target(unsigned n) noexcept;
  void add_seats(unsigned n);
  void open_seats(unsigned n);
  void close_seats(unsigned first, unsigned last) noexcept;
  void wake_waiters() noexcept;
  void wake_guests() noexcept;
  [[nodiscard]] bool stands_still() noexcept;
  [[nodiscard]] bool close_pool() noexcept;
  [[nodiscard]] bool close_or_await_arrivals(std::unique_lock<mutex>& life,
                                             std::chrono::steady_clock::time_point& discard_at,
                                             shutdown_report& slow);
  void report_or_discard(std::chrono::steady_clock::time_point& discard_at, shutdown_report& slow);
  void ask_owned_tasks() noexcept;
  void withdraw_stuck(withdrawn_work& to) noexcept;
  static void drop(withdrawn_work& work) noexcept;
  [[nodiscard]] bool drop_stuck() noexcept;
  [[nodiscard]] bool drop_owned() noexcept;
  void refuse_members(bool destroying) const;
  void begin_discard(std::chrono::steady_clock::time_point& discard_at);
  void await_quiet(std::chrono::steady_clock::time_point& discard_at, shutdown_report& slow);
  [[nodiscard]] bool await_owned_tasks(std::chrono::steady_clock::time_point& discard_at,
                                       shutdown_report& slow);
  [[nodiscard]] bool drop_rest(std::unique_lock<mutex>& life,
                               std::chrono::steady_clock::time_point& discard_at, shutdown_report& slow);
  void discard_queued() noexcept;
  [[nodiscard]] bool drop_queued(std::unique_lock<mutex>& life) noexcept;
  [[nodiscard]] bool has_suspended() const noexcept;
  [[nodiscard]] bool has_work() const noexcept;

public:
  lifecycle(pool_core& core, std::vector<int> cpu_order);
  ~lifecycle();

  /// Throws std::invalid_argument if there are too many.
  static void check_workers(unsigned n);
  void start(unsigned workers);
  unsigned resize(unsigned workers);
  [[nodiscard]] unsigned size() const noexcept { return target_.get(); }
  /// Holds the size still.
  [[nodiscard]] std::unique_lock<mutex> hold() { return std::unique_lock(mutex_); }

  /// Returns when the pool is closed. `discard_at`: a drain that has not ended by then becomes a discard.
  /// True: it drained.
  bool
  shutdown(ending how, bool destroying,
           std::chrono::steady_clock::time_point discard_at = std::chrono::steady_clock::time_point::max());
  void request_shutdown(ending how);
  /// By the pool's destructor, when no thread can find the pool any more: drops what a thread under a hazard
  /// guard has queued since the pool was closed.
  void drop_last() noexcept;
  /// A shutdown was requested and nothing is left to do: the threads end.
  void end_if_quiet() noexcept;
  /// The threads do not exist any more: fork() made this process.
  void abandon() noexcept;
  [[nodiscard]] bool is_abandoned() const noexcept { return abandoned_.get(); }
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
  /// What has not begun is dropped, and waits end early. Pairs with request_shutdown(), which writes ending_
  /// before it wakes the waiters and walks the owned tasks.
  [[nodiscard]] bool is_discarding() const noexcept { return ending_.get() == ending::discard; }
  [[nodiscard]] bool is_closed() const noexcept { return entrance_.get() == entrance::closed; }
  /// For new work: the same, after the decision if a thread is about to decide.
  [[nodiscard]] bool stays_closed() noexcept;
  /// The pool is closed, and refuses new work. After the program's end the global pool takes it, to drop it.
  [[nodiscard]] bool refuses_work() noexcept {
    return entrance_.get() != entrance::open && !program_ends_.get() && stays_closed();
  }
  /// A guest that only waits has to leave: the pool ends, and has nothing for it to run. A closed pool may be
  /// driven, like one without workers.
  [[nodiscard]] bool turns_guests_away() const noexcept;

  /// Does the pool end, and is the caller outside?
  [[nodiscard]] bool is_late() const noexcept {
    // A caller that comes at the same time as the request counts as one that came before.
    return ending_.peek() != ending::none && !is_member(core_);
  }

  /// Moves the tasks of a closed seat to the injector, and wakes a thread for them.
  void retire_seat(seat& s) noexcept;
};

/// The part of that pool, for code that needs no other part of it.
[[nodiscard]] lifecycle& life_of(pool_core& c) noexcept;
/// Does any pool that this thread is a member of discard?
[[nodiscard]] bool discarded(thread_context const& runner) noexcept;

} // namespace rubato::detail
