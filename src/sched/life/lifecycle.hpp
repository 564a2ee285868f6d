// How a pool begins, changes its size and ends. docs/design/lifecycle.md
#pragma once

#include "sched/core/life_state.hpp"
#include "work/owned_tasks.hpp"
#include "work/waiting_routines.hpp"

#include <chrono>
#include <mutex>

namespace rubato::detail {

class pool_core;
class shutdown_report;

/// Tasks and routines that a pool that ends has taken out of the objects for which they waited.
struct withdrawn_work {
  intrusive_list<owned_task> tasks;
  intrusive_list<waiting_routine> routines;
  [[nodiscard]] bool empty() const noexcept { return tasks.empty() && routines.empty(); }
};

/// Changes the life of a pool. Has no state of its own: it may be made anew for each call.
class lifecycle {
  pool_core& core_;
  life_state& state_;

  unsigned set_target(unsigned n) noexcept;
  void open_seats(unsigned n);
  void close_seats(unsigned first, unsigned last) noexcept;
  [[nodiscard]] bool begin_to_end(ending how);
  void unpark_guests() noexcept;
  [[nodiscard]] bool stands_still() noexcept;
  [[nodiscard]] bool close_pool() noexcept;
  [[nodiscard]] bool close_or_await_arrivals(std::unique_lock<mutex>& held,
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
  [[nodiscard]] bool drop_rest(std::unique_lock<mutex>& held,
                               std::chrono::steady_clock::time_point& discard_at, shutdown_report& slow);
  void discard_queued() noexcept;
  [[nodiscard]] bool drop_queued(std::unique_lock<mutex>& held) noexcept;
  [[nodiscard]] bool has_suspended() const noexcept;
  [[nodiscard]] bool has_work() const noexcept;

public:
  explicit lifecycle(pool_core& core) noexcept;

  /// Throws std::invalid_argument if there are too many.
  static void check_workers(unsigned n);
  void start(unsigned workers);
  unsigned resize(unsigned workers);

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
};

} // namespace rubato::detail
