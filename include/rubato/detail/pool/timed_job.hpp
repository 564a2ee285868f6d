// Tasks that are queued at a point in time. docs/design/timers.md
#pragma once

#include "rubato/detail/future/detached.hpp"
#include "rubato/detail/future/job.hpp"
#include "rubato/detail/sched/future_state.hpp"
#include "rubato/detail/sched/timer.hpp"

#include <chrono>
#include <utility>

namespace rubato::detail {

/// A callable whose exceptions go to on_unhandled, also those of the task or future that it returns.
template<class F>
class detached_call {
  F f_;

public:
  template<class G>
  explicit detached_call(G&& g)
      : f_(std::forward<G>(g)) {}
  void operator()() noexcept {
    try {
      if constexpr (goes_on<F>)
        queue_detached(*current->core, false, std::move(f_));
      else
        static_cast<void>(call(*current, std::move(f_)));
    } catch (...) {
      unhandled(*current);
    }
  }
};

/// The timer of a state. It is among its pool's owned tasks until it fires or is cancelled.
class timed_start final : timer, owned_task {
  future_state& self_;
  bool counted_ = false; ///< among the pool's armed timers

  void fire() noexcept override;

public:
  explicit timed_start(future_state& s) noexcept
      : owned_task(s)
      , self_(s) {}
  /// On the state's pool.
  void begin(std::chrono::steady_clock::time_point t) noexcept;
  /// True: the work will not begin, and was dropped.
  bool call_off() noexcept;
  /// True: the work will not begin.
  [[nodiscard]] bool take_back() noexcept;
  /// The work was dropped before the timer was due.
  void not_counted() noexcept;
};

template<class F>
class timed_job final : public value_job<detached_call<F>> {
  using base = value_job<detached_call<F>>;

public:
  timed_start timer{*this};

  template<class G>
  explicit timed_job(G&& g)
      : base(2U, nullptr, std::forward<G>(g)) {}
  [[nodiscard]] bool withdraw(owned_task const& /*as*/) noexcept override { return timer.take_back(); }
  bool call_off() noexcept override { return timer.call_off(); }
  /// Without an exception, which would cost more than the timer: a timer_handle has no result to ask for.
  void drop() noexcept override {
    timer.not_counted();
    this->f_.reset();
    this->complete();
  }
  void dispose() noexcept override { dispose_state(this); }
};

} // namespace rubato::detail
