// What the monitor looks for in a pool: latent work beside sleepers, tasks that wait too long, waits that no
// thread can end. docs/design/monitor.md
#pragma once

#include "os/clock.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/pool_options.hpp"
#include "sched/run/search.hpp"
#include "work/pool_thread.hpp"

#include <cstdint>
#include <vector>

namespace rubato::detail {

class pool_core;

class progress_monitor {
  pool_core& core_;
  announced<bool> owed_; // a searcher that finds work tells the monitor, which was not told
  alignas(64) announced<unsigned> waiting_; // active threads parked in a wait that the pool can end
  relaxed<unsigned> outside_waits_;         // of them, waits that a thread outside the pool might end
  relaxed<unsigned> strange_waits_; // of these, waits for the clock or for work that is not the pool's
  relaxed<std::uint64_t> returns_;  // waits that have ended; a stall has none
  flag report_asked_;               // a waiting thread is to report

  // The monitor's notes.
  bool latent_seen_ = false;
  os::ticks queues_noted_ = 0; // when pushed_then_ was taken; 0: never
  unsigned stalled_looks_ = 0;
  std::uint64_t stall_epoch_ = 0;
  os::ticks jammed_since_ = 0; // 0: it is not
  std::uint64_t jam_epoch_ = 0;
  bool jam_told_ = false;                  // in this epoch
  std::vector<std::uint64_t> pushed_then_; // by queue: injector, event lane, high, its events, low, the seats

  enum class doing : unsigned char { something, computes, blocked };
  [[nodiscard]] doing judge(pool_thread& t, os::ticks now) noexcept;
  void look_at_backlog(os::ticks now) noexcept;
  struct relief_seen {
    bool computes = true;        ///< what substitutes do
    bool extra = false;          ///< the extra thread runs
    bool extra_computes = false; ///< and does nothing else
    bool for_events = false;     ///< the one for events alone runs
  };
  [[nodiscard]] relief_seen look_at_relief(os::ticks now) noexcept;
  [[nodiscard]] bool look_at_seat(seat& s, bool late, os::ticks now) noexcept;
  void share_tasks_of(seat& s) noexcept;
  struct lateness {
    bool any = false;
    bool but_low = false; ///< of the class high or normal
    bool events = false;  ///< of these, what an event or a deadline has made ready
  };
  [[nodiscard]] lateness note_queues(os::ticks now) noexcept;
  void send_extra(relief_seen const& seen, lateness const& late, os::ticks now) noexcept;
  void send_relief(relief_order const& order) noexcept;
  [[nodiscard]] bool any_hidden() const noexcept;
  [[nodiscard]] task* take_event(pool_thread& t) noexcept;
  [[nodiscard]] finding find_for_relief(pool_thread& t, unsigned turn) noexcept;
  [[nodiscard]] unsigned boundaries_of_all_but(pool_thread const* t) const noexcept;
  struct relief_test {
    os::ticks at = 0; ///< the last test of whether the blocked thread still sleeps; 0: there was none
    std::chrono::nanoseconds cpu{}; ///< what it had used at the first one
  };
  [[nodiscard]] bool is_relief_wanted(pool_thread const& t, relief_test& last) const noexcept;
  [[nodiscard]] bool is_stuck() const noexcept;
  [[nodiscard]] bool any_woken() const noexcept;
  [[nodiscard]] bool look_for_stall() noexcept;
  [[nodiscard]] bool is_jammed() const noexcept;
  void look_for_jam(os::ticks now) noexcept;
  void ask_for_report() noexcept;
  [[nodiscard]] std::uint64_t this_epoch() const noexcept;
  [[nodiscard]] stall_report describe_stall();

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
  /// What may end a wait of a thread of the pool.
  enum class ended_by : unsigned char {
    the_pool,  ///< alone
    outsiders, ///< it is for the pool's own work, which a thread outside may complete or make ready
    strangers  ///< the clock, or work that is not the pool's
  };
  /// A wait begins or ends that the pool does not end alone.
  void count_wait(ended_by e, int n) noexcept {
    outside_waits_.add(static_cast<unsigned>(n));
    if (e == ended_by::strangers) strange_waits_.add(static_cast<unsigned>(n));
  }
  /// Every active thread waits for something that only the pool can complete.
  [[nodiscard]] bool all_wait() const noexcept;
  /// The same, and no thread can be called: what is queued stays queued.
  [[nodiscard]] bool is_stranded() noexcept;
  /// After a wait began, or an active thread went idle or left: wakes the monitor if nothing can go on.
  void tell_if_stuck() noexcept;
  /// By a waiting thread that was woken. True: it is the one that must report the stall.
  [[nodiscard]] bool takes_report() noexcept { return report_asked_.take(); }
  void report() noexcept;

  // Relief
  /// Does work wait that no other thread is called for while the thread keeps its seat: bound to the seat;
  /// or, in a blocking region, latent in the thread's chain, or a child of a scope?
  [[nodiscard]] bool hides_work(pool_thread const& t) const noexcept;
  /// Before the thread runs, or while it is idle and no other thread can call it.
  void call_for_relief(pool_thread& t, relief_order const& order) noexcept;
  /// Runs ready tasks without a seat, as long as it is wanted.
  void relieve(pool_thread& t) noexcept;
};

/// While it lives, the calling thread waits for something that may end so.
class counted_wait {
  progress_monitor& progress_;
  progress_monitor::ended_by const by_;

public:
  counted_wait(progress_monitor& p, progress_monitor::ended_by e) noexcept
      : progress_(p)
      , by_(e) {
    if (by_ != progress_monitor::ended_by::the_pool) progress_.count_wait(by_, 1);
  }
  counted_wait(counted_wait const&) = delete;
  ~counted_wait() {
    if (by_ != progress_monitor::ended_by::the_pool) progress_.count_wait(by_, -1);
  }
};

} // namespace rubato::detail
