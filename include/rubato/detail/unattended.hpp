// Work whose result nobody waits for: what it throws goes to on_unhandled. docs/design/futures.md
#pragma once

#include "rubato/detail/job.hpp"
#include "rubato/detail/pool_access.hpp"
#include "rubato/detail/task.hpp"

#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Tells a pool of an exception, from its queue: what completes the work may hold locks.
class failure_report final : task, public future_waiter {
  pool_core* where_ = nullptr; // it may be gone
  std::uint64_t serial_ = 0;
  std::exception_ptr error_;

  static void tell(task& base, member* runner) noexcept;

public:
  future_state& job;

  using ended_type = void (*)(future_waiter&, completions&) noexcept;
  failure_report(future_state& j, ended_type ended) noexcept;
  /// Calls ended() when the job has. Once, before it can begin.
  void watch(pool_core& c) noexcept;
  /// Once. To that pool; if it is gone, to the one that the job has moved to, if any. Ends a hold on the job.
  void send(std::exception_ptr e) noexcept;
};

/// A job that tells of its own failure.
template<class F>
class unattended_job : public job_for<F>::type {
  using base = typename job_for<F>::type;
  using result = typename flattened<call_result_t<F>>::type;
  failure_report report_{*this, &ended};
  bool dropped_ = false;

  static void ended(future_waiter& w, completions& /*more*/) noexcept {
    auto& self = static_cast<unattended_job&>(static_cast<failure_report&>(w).job);
    std::exception_ptr e = result_of<result>(self).take_error();
    bool const stopped = self.stop.level() != stop_level::none;
    if (e == nullptr || self.dropped_ || (stopped && is_cancelled(e)))
      self.release();
    else
      self.report_.send(std::move(e));
  }

public:
  /// Two holders: the second is itself.
  template<class G>
  explicit unattended_job(std::uint32_t holders, G&& g)
      : base(holders, std::forward<G>(g)) {}
  void watch(pool_core& c) noexcept { report_.watch(c); }
  /// It never ends, which is no failure of its own.
  void drop() noexcept override {
    dropped_ = true;
    base::drop();
  }
  void dispose() noexcept override { dispose_state(this); }

  template<class G>
  static void start(pool_core& c, bool holds_room, G&& g) {
    auto* const made = make_state<unattended_job>(2U, std::forward<G>(g));
    made->holds_room = holds_room;
    made->watch(c);
    spawn_state(c, *made);
  }
};

/// Does it go on when the call has returned?
template<class F>
inline constexpr bool goes_on = flattened<call_result_t<std::decay_t<F>>>::is_task ||
                                flattened<call_result_t<std::decay_t<F>>>::is_future;

/// Can pool::enqueue() take it? Says so where it cannot.
template<class F>
[[nodiscard]] consteval bool can_be_queued() {
  static_assert(can_be_kept<F>, "rubato: enqueue(f): f is copied unless it is passed as an rvalue: std::move "
                                "what cannot be copied");
  if constexpr (can_be_kept<F>)
    static_assert(fits<std::decay_t<F>>, "rubato: enqueue(f): f must be callable as f()");
  return can_be_kept<F> && fits<std::decay_t<F>>;
}

/// Queues it, to be counted as one queued task if it holds room.
template<class F>
void queue_unattended(pool_core& c, bool holds_room, F&& f) {
  if constexpr (goes_on<F>) {
    unattended_job<std::decay_t<F>>::start(c, holds_room, std::forward<F>(f));
  } else {
    detail::task* const made = make_task(std::forward<F>(f));
    made->holds_room = holds_room;
    queue(c, made);
  }
}

/// The same in room that was acquired, and is given back if it throws.
template<class F>
void queue_in_room(pool_core& c, F&& f) {
  try {
    queue_unattended(c, true, std::forward<F>(f));
  } catch (...) {
    release_room(c);
    throw;
  }
}

} // namespace rubato::detail
