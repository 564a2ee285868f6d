// Guarantee R: tasks that have been ready for 10 ms behind threads that are blocked, or compute without a
// task boundary, get another thread. docs/design/monitor.md
#pragma once

#include "sched/core/watch_notes.hpp"
#include "work/pool_thread.hpp"

namespace rubato::detail {

class pool_core;

/// The monitor's look at the queues of one pool.
class backlog_watch {
  pool_core& core_;
  watch_notes& notes_;

  enum class doing : unsigned char { something, computes, blocked };
  [[nodiscard]] static doing judge(pool_thread& t, os::ticks now) noexcept;
  struct relief_seen {
    bool computes = true;        ///< every substitute computes
    bool extra = false;          ///< the extra thread runs
    bool extra_computes = false; ///< and passes no task boundary
    bool for_events = false;     ///< the one for events alone runs
  };
  [[nodiscard]] relief_seen look_at_relief(os::ticks now) noexcept;
  [[nodiscard]] bool look_at_seat(seat& s, bool late, os::ticks now) noexcept;
  void share_tasks_of(seat& s) noexcept;
  struct lateness {
    bool any = false;
    bool but_low = false; ///< of high or normal priority
    bool events = false;  ///< of these, what an event or a deadline has made ready
  };
  [[nodiscard]] lateness note_queues(os::ticks now) noexcept;
  void send_extra(relief_seen const& seen, lateness const& late, os::ticks now) noexcept;
  void send_relief(relief_order const& order) noexcept;

public:
  explicit backlog_watch(pool_core& core) noexcept;
  /// Tasks are queued. Once one has been ready for 10 ms, finds out what keeps the threads from it.
  void look(os::ticks now) noexcept;
  /// A blocked thread keeps work from others: see hides_work().
  [[nodiscard]] bool any_hidden() const noexcept;
};

} // namespace rubato::detail
