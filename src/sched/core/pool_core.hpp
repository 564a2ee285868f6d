// The core of a started pool. It connects the parts; each has a header of its own.
// docs/design/README.md
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/pool_options.hpp"
#include "rubato/stats.hpp"
#include "sched/core/capacity.hpp"
#include "sched/core/life_state.hpp"
#include "sched/core/pool_registry.hpp"
#include "sched/core/quiescence.hpp"
#include "sched/core/thread_registry.hpp"
#include "sched/core/waits.hpp"
#include "sched/core/watch_notes.hpp"
#include "sync/idle_set.hpp"
#include "work/owned_tasks.hpp"
#include "work/pool_thread.hpp"
#include "work/seat.hpp"
#include "work/task_queues.hpp"
#include "work/waiting_routines.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace rubato::detail {

class pool_core {
  pool* handle_;
  pool_options options_;
  os::ticks search_ticks_;
  std::vector<int> const cpu_order_; // of the seats; empty: not pinned

  friend class left_seat; // alone calls these two
  seat* vacate(pool_thread& t, leaving how, bool searching) noexcept;
  void after_vacating(seat* s) noexcept;

  [[nodiscard]] bool push_own(pool_thread& me, seat& s, task* t) noexcept;

public:
  static constexpr unsigned max_workers = 1024;

  pool_core(pool& handle, pool_options options);
  ~pool_core();
  /// Throws what the constructor would throw because of the options.
  static void check(pool_options const& options);
  /// Adds closed seats until there are `n`. By one caller at a time.
  void add_seats(unsigned n);

  // The parts. The life first: it ends last, since the others' destructors ask it whether fork() has left
  // their threads behind.
  life_state life;
  task_queues queues;
  detail::idle_set idle_threads{this};
  thread_registry threads;
  detail::capacity capacity;
  detail::quiescence quiescence;
  detail::waits waits;
  watch_notes notes; ///< the monitor's
  owned_tasks owned;
  waiting_routines routines;
  pool_thread external_scopes;    ///< no thread: the home of scopes that were opened outside the pool
  mutex take_gate;                ///< one take in flight: each interrupts every CPU of the process
  std::atomic<int> stragglers{0}; ///< losers of hedges that still run; relaxed: a count for stats()
  relaxed<unsigned> spinning;     ///< threads that wait awake for a task aside

  registered_pool registered; ///< from enter_process() to the destructor

  // Queuing wakes a worker if one sleeps and none searches.
  void enqueue(task* t) noexcept;
  void enqueue_for(seat& s, task* t) noexcept;
  /// A task of high or low priority, or one that an event or a deadline has made ready.
  void enqueue_as(priority c, task* t, priority_lane l = priority_lane::tasks) noexcept;
  void enqueue_event(task* t) noexcept { enqueue_as(priority::normal, t, priority_lane::events); }
  /// On the seat of that number, modulo the pool's size.
  void enqueue_on(unsigned seat_index, task* t) noexcept;
  /// A task that the caller's own task has made ready. Runs next on the caller's seat, its data in cache.
  void enqueue_next(task* t) noexcept;
  /// At once on a thread without a seat: an idle one, preferably one that ran last on that CPU, else a spare.
  /// False: no thread is idle, and none can be made.
  [[nodiscard]] bool send_aside(task& t, int cpu = -1) noexcept;
  /// Call after every event that leaves work queued.
  void notify() noexcept;
  /// Wakes or makes a thread for a vacant seat: `wanted`, or any. `always`: even while a worker searches.
  void unpark_worker(seat* wanted = nullptr, bool always = false) noexcept;
  /// Wakes a thread for every seat with a task in its inbox.
  void unpark_for_inboxes() noexcept;

  /// Moves the tasks of a closed seat to the injector, and wakes a thread for them.
  void retire_seat(seat& s) noexcept;

  /// A fire-and-forget task has thrown.
  void unhandled(std::exception_ptr e) noexcept;
  [[nodiscard]] bool handles_failures() const noexcept { return options_.on_unhandled_ != nullptr; }

  [[nodiscard]] unsigned size() const noexcept { return life.size(); }
  [[nodiscard]] os::ticks search_ticks() const noexcept { return search_ticks_; }
  [[nodiscard]] pool_options const& options() const noexcept { return options_; }
  [[nodiscard]] std::string const& name() const noexcept { return options_.name_; }
  [[nodiscard]] pool& handle() const noexcept { return *handle_; }
  [[nodiscard]] pool_stats stats() const;
};

/// A thread gives up its seat, or goes idle. From the guard's end on nothing that is queued depends on that
/// thread: others are woken for it. If no thread runs any more, those that wait for quiescence are woken.
class left_seat {
  pool_core& core_;
  seat* seat_ = nullptr;

public:
  explicit left_seat(pool_core& core) noexcept
      : core_(core) {}
  left_seat(left_seat const&) = delete;
  left_seat& operator=(left_seat const&) = delete;
  ~left_seat() { core_.after_vacating(seat_); }

  /// The thread gives up its seat. Null: it has none.
  seat* vacate(pool_thread& t, leaving how, bool searching = false) noexcept {
    return seat_ = core_.vacate(t, how, searching);
  }
};

/// One pool starts at a time. fork() holds this lock.
inline constinit mutex start_mutex;

} // namespace rubato::detail
