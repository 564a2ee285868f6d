// What the monitor looks for in a pool: latent work beside sleepers, tasks that wait too long, waits that no
// thread can end. docs/design/monitor.md
#pragma once

#include "os/clock.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "sched/worker/pool_thread.hpp"
#include "sched/worker/search.hpp"

#include <cstdint>
#include <vector>

namespace rubato::detail {

class pool_core;

class progress_monitor {
  pool_core& core_;
  announced<bool> owed_; // a searcher that finds work tells the monitor, which was not told
  alignas(64) announced<unsigned> waiting_; // active threads parked in a wait that the pool can end
  relaxed<unsigned> outside_waits_;         // of them, waits that a thread outside the pool might end
  relaxed<std::uint64_t> returns_;          // waits that have ended; a stall has none
  flag report_asked_;                       // a waiting thread is to report

  // The monitor's notes.
  bool latent_seen_ = false;
  os::ticks queues_noted_ = 0; // when pushed_then_ was taken; 0: never
  unsigned stalled_looks_ = 0;
  std::uint64_t stall_epoch_ = 0;
  std::vector<std::uint64_t> pushed_then_; // by queue: the injector, high, low, the seats

  enum class doing : unsigned char { something, computes, blocked };
  [[nodiscard]] doing judge(pool_thread& t, os::ticks now) noexcept;
  void look_at_backlog(os::ticks now) noexcept;
  struct relief_seen {
    bool computes = true; ///< what substitutes do
    bool extra = false;   ///< the extra thread runs
  };
  [[nodiscard]] relief_seen look_at_relief(os::ticks now) noexcept;
  [[nodiscard]] bool look_at_seat(seat& s, bool late, os::ticks now) noexcept;
  void share_tasks_of(seat& s) noexcept;
  struct lateness {
    bool any = false;
    bool but_low = false; ///< of the class high or normal
  };
  [[nodiscard]] lateness note_queues(os::ticks now) noexcept;
  void send_relief(pool_thread* blocked) noexcept;
  [[nodiscard]] bool any_hidden() const noexcept;
  [[nodiscard]] finding find_for_relief(pool_thread& t) noexcept;
  [[nodiscard]] unsigned boundaries_of_all_but(pool_thread const& t) const noexcept;
  [[nodiscard]] bool is_relief_wanted(pool_thread const& t, os::ticks& tested) const noexcept;
  [[nodiscard]] bool is_stuck() const noexcept;
  [[nodiscard]] bool look_for_stall() noexcept;
  [[nodiscard]] std::uint64_t this_epoch() const noexcept;
  void tell_of_stall();

public:
  progress_monitor(pool_core& core, unsigned most_seats);

  // By the monitor
  struct attention {
    bool latent = false; ///< look again soon: a thread is busy and another sleeps
    bool queued = false; ///< look again in 10 ms: tasks are ready behind busy workers
  };
  [[nodiscard]] attention inspect(os::ticks now) noexcept;
  [[nodiscard]] bool wants_attention(bool later) const noexcept;
  /// At its next fork every thread tells the monitor, which is about to sleep.
  void arm_poll_all() noexcept;

  // By the threads of the pool
  /// A job or a child has become latent while the monitor was perhaps asleep. `on_blocked_seat`: the caller
  /// is in a blocking region in which it keeps its seat.
  void tell_of_latent(bool on_blocked_seat) noexcept;
  /// A searcher has found work: it tells the monitor if tell_of_latent() woke the searcher instead.
  void tell_if_owed() noexcept;
  void begin_wait() noexcept { waiting_.add(1); }
  void end_wait() noexcept { waiting_.subtract(1); }
  void wait_returned() noexcept { returns_.add(1); }
  /// A wait begins or ends that a thread outside the pool may end.
  void count_outside_wait(int n) noexcept { outside_waits_.add(static_cast<unsigned>(n)); }
  /// Every active thread waits for something that only the pool can complete.
  [[nodiscard]] bool all_wait() const noexcept;
  /// The same, and no thread can be called: a waiter must itself run the ready work that it waits for.
  [[nodiscard]] bool is_stranded() noexcept;
  /// After a wait began, or an active thread went idle or left: wakes the monitor if nothing can go on.
  void tell_if_stuck() noexcept;
  /// By a waiting thread that was woken. True: it is the one that must report the stall.
  [[nodiscard]] bool takes_report() noexcept { return report_asked_.take(); }
  void report() noexcept;

  // Relief
  /// Does the thread keep its seat in a blocking region, though work waits there that no other thread is
  /// called for: bound to the seat, latent in the thread's chain, or a child of a scope?
  [[nodiscard]] bool hides_work(pool_thread const& t) const noexcept;
  /// Before the thread runs, or while it is idle and no other thread can call it.
  void call_for_relief(pool_thread& t, pool_thread* blocked) noexcept;
  /// Runs ready tasks without a seat, as long as it is wanted.
  void relieve(pool_thread& t) noexcept;
};

/// While it lives, the calling thread waits for something that a thread outside the pool may end.
class outside_wait {
  progress_monitor* counts_; ///< null: only the pool can end it

public:
  outside_wait(progress_monitor& p, bool from_outside) noexcept
      : counts_(from_outside ? &p : nullptr) {
    if (counts_ != nullptr) counts_->count_outside_wait(1);
  }
  outside_wait(outside_wait const&) = delete;
  ~outside_wait() {
    if (counts_ != nullptr) counts_->count_outside_wait(-1);
  }
};

} // namespace rubato::detail
