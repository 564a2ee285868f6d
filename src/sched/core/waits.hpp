// The waits of a pool's threads, and what they tell the monitor. docs/design/monitor.md
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/work/pool_port.hpp"

#include <cstdint>

namespace rubato::detail {

class waits {
  pool_core& core_;
  announced<bool> owed_; // the monitor was not told of latent work: a searcher that finds work tells it
  alignas(64) announced<unsigned> waiting_; // active threads that are parked in a wait
  relaxed<unsigned> outside_waits_;         // those of them that the pool does not end alone
  relaxed<unsigned> strange_waits_; // of these, waits for the clock or for work that is not the pool's
  relaxed<std::uint64_t> returns_;  // waits that have ended; a stall has none
  flag report_asked_;               // a waiting thread is to report

public:
  explicit waits(pool_core& core) noexcept
      : core_(core) {}

  void begin() noexcept { waiting_.add(1); }
  void end() noexcept { waiting_.subtract(1); }
  void returned() noexcept { returns_.add(1); }
  /// Counts the waits that have ended; never 0.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return returns_.get() + 1; }
  /// What may end a wait of a thread of the pool.
  enum class ended_by : unsigned char {
    the_pool,  ///< alone
    outsiders, ///< it is for the pool's own work, which a thread outside may complete or make ready
    strangers  ///< the clock, or work that is not the pool's
  };
  /// A wait begins or ends that the pool does not end alone.
  void count(ended_by e, int n) noexcept {
    outside_waits_.add(static_cast<unsigned>(n));
    if (e == ended_by::strangers) strange_waits_.add(static_cast<unsigned>(n));
  }

  /// Every active thread is parked in a wait.
  [[nodiscard]] bool all_wait() const noexcept;
  /// The same, and only the pool can end these waits. nudge_if_stuck() follows each event that makes it true:
  /// a wait begins, or an active thread goes idle or leaves.
  [[nodiscard]] bool is_stuck() const noexcept;
  /// No wait is for the clock, or for work that is not the pool's.
  [[nodiscard]] bool none_for_strangers() const noexcept { return strange_waits_.get() == 0; }
  /// After a wait began, or an active thread went idle or left: wakes the monitor if nothing can go on.
  void nudge_if_stuck() noexcept;
  /// The monitor asks a thread to report: that thread is unparked afterwards.
  void ask_for_report() noexcept { report_asked_.raise(); }
  /// By a waiting thread that was woken. True: it is the one that must report the stall.
  [[nodiscard]] bool takes_report() noexcept { return report_asked_.take(); }

  /// A job or a child has become latent while the monitor was perhaps asleep. `on_blocked_seat`: the caller
  /// is in a blocking region in which it keeps its seat.
  void nudge_of_latent(bool on_blocked_seat) noexcept;
  /// A searcher has found work: it tells the monitor if nudge_of_latent() woke the searcher instead.
  void nudge_if_owed() noexcept;
};

/// While it lives, the calling thread is in a wait that `e` may end.
class counted_wait {
  waits& waits_;
  waits::ended_by const by_;

public:
  counted_wait(waits& w, waits::ended_by e) noexcept
      : waits_(w)
      , by_(e) {
    if (by_ != waits::ended_by::the_pool) waits_.count(by_, 1);
  }
  counted_wait(counted_wait const&) = delete;
  ~counted_wait() {
    if (by_ != waits::ended_by::the_pool) waits_.count(by_, -1);
  }
};

/// Does the thread hide work from the others by keeping its seat? It hides what is bound to the seat. In a
/// blocking region it also hides the latent jobs of its chain and the children of scopes.
[[nodiscard]] bool hides_work(pool_core const& core, pool_thread const& t) noexcept;

} // namespace rubato::detail
