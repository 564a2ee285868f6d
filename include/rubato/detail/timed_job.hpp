// Work that is queued at a point in time. docs/design/timers.md
#pragma once

#include "rubato/detail/job.hpp"
#include "rubato/detail/resident.hpp"
#include "rubato/detail/timer.hpp"
#include "rubato/detail/unattended.hpp"

#include <chrono>
#include <utility>

namespace rubato::detail {

/// A callable whose exceptions go to on_unhandled, those of what it returns too.
template<class F>
class unattended_call {
  F f_;

public:
  template<class G>
  explicit unattended_call(G&& g)
      : f_(std::forward<G>(g)) {}
  void operator()() noexcept {
    try {
      if constexpr (goes_on<F>)
        queue_unattended(*current->core, false, std::move(f_));
      else
        static_cast<void>(call(*current, std::move(f_)));
    } catch (...) {
      unhandled(*current);
    }
  }
};

/// The timer of a state, which is among its pool's residents until it fires or is taken back.
class timed_start final : timer, resident {
  future_state& self_;
  bool counted_ = false; ///< among the pool's armed timers

  static void due_now(timer& t) noexcept;

public:
  explicit timed_start(future_state& s) noexcept
      : timer(&due_now)
      , resident(s)
      , self_(s) {}
  /// On the state's pool.
  void begin(std::chrono::steady_clock::time_point t);
  /// True: it will not begin any more; the work was dropped.
  bool call_off() noexcept;
  /// True: it will not begin any more.
  [[nodiscard]] bool take_back() noexcept;
  /// The work was dropped before the timer was due.
  void not_counted() noexcept;
};

/// A state with such a timer.
class timed_state : public state_of<void> {
public:
  timed_start timer{*this};
  using state_of<void>::state_of;
  [[nodiscard]] bool withdraw(resident const& /*as*/) noexcept override { return timer.take_back(); }
  void on_drain() noexcept override { timer.call_off(); }
};

template<class F>
class timed_job final : public timed_state {
  until_called<unattended_call<F>> f_;

public:
  template<class G>
  explicit timed_job(G&& g)
      : timed_state(2)
      , f_(std::forward<G>(g)) {}
  void resume(member& runner) noexcept override {
    token_in_force const token(runner.chain, &this->stop);
    f_.get()();
    f_.reset();
    complete();
  }
  void drop() noexcept override {
    f_.reset();
    timer.not_counted();
    future_state::drop();
  }
  void dispose() noexcept override { dispose_state(this); }
};

} // namespace rubato::detail
