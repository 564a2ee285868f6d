// Work that brings a result: a callable, and what it returns if that is a future. docs/design/futures.md
#pragma once

#include "rubato/detail/callable.hpp"
#include "rubato/detail/flattened.hpp"
#include "rubato/detail/future_state.hpp"
#include "rubato/detail/token_in_force.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <tuple>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// A callable with the arguments that were passed along, decay-copied, and passed on as rvalues.
template<class F, class... Args>
class bound_call {
  F f_;
  std::tuple<Args...> args_;

public:
  template<class G, class... As>
  explicit bound_call(G&& g, As&&... as)
      : f_(std::forward<G>(g))
      , args_(std::forward<As>(as)...) {}

  decltype(auto) operator()(std::stop_token token)
    requires std::is_invocable_v<F, std::stop_token, Args...>
  {
    return std::apply(
        [&](Args&... as) -> decltype(auto) {
          return std::invoke(std::move(f_), std::move(token), std::move(as)...);
        },
        args_);
  }
  decltype(auto) operator()()
    requires(!std::is_invocable_v<F, std::stop_token, Args...> && std::is_invocable_v<F, Args...>)
  {
    return std::apply(
        [&](Args&... as) -> decltype(auto) { return std::invoke(std::move(f_), std::move(as)...); }, args_);
  }
};

/// Can pool::spawn() take these? Says so where it cannot.
template<class F, class... Args>
[[nodiscard]] consteval bool can_be_spawned() {
  constexpr bool kept = can_be_kept<F, Args...>, called = fits<std::decay_t<F>, std::decay_t<Args>...>;
  static_assert(kept, "rubato: spawn(f, args...): f and the arguments are copied unless they are passed as "
                      "rvalues: std::move what cannot be copied");
  if constexpr (kept)
    static_assert(called, "rubato: spawn(f, args...): f must be callable as f(args...), with copies of the "
                          "arguments as rvalues; std::ref passes a reference on");
  return kept && called;
}

/// Calls with the token of the work that runs, or without.
template<class F>
call_result_t<F> call_with_token(member& me, F&& f) {
  if constexpr (wants_token<F>)
    return std::invoke(std::forward<F>(f), current_token(me));
  else
    return std::invoke(std::forward<F>(f));
}

/// A callable in its place that can be destroyed before its owner is.
template<class F>
class until_called {
  union {
    F f_;
  };
  bool there_ = true;

public:
  template<class... Args>
  explicit until_called(Args&&... args)
      : f_(std::forward<Args>(args)...) {}
  until_called(until_called const&) = delete;
  until_called& operator=(until_called const&) = delete;
  ~until_called() { reset(); }
  [[nodiscard]] F& get() noexcept { return f_; }
  void reset() noexcept {
    if (std::exchange(there_, false)) std::destroy_at(std::addressof(f_));
  }
};

/// A base, so that it is there before the state that refers to it.
struct link_holder {
  stop_link link;
  explicit link_holder(stop_scope* around) noexcept
      : link(around) {}
};

/// A callable that returns a value.
template<class F>
class value_job : public state_of<call_result_t<F>> {
  until_called<F> f_;

public:
  template<class... Args>
  explicit value_job(std::uint32_t holders, Args&&... args)
      : state_of<call_result_t<F>>(holders)
      , f_(std::forward<Args>(args)...) {}
  template<class... Args>
  explicit value_job(stop_link& around, std::uint32_t holders, Args&&... args)
      : state_of<call_result_t<F>>(holders, around)
      , f_(std::forward<Args>(args)...) {}

  [[nodiscard]] F& callable() noexcept { return f_.get(); }

  void resume(member& runner) noexcept override {
    if (this->stop.stop_requested()) {
      this->fail(cancelled_error());
    } else {
      token_in_force const token(runner.chain, &this->stop);
      this->slot().fill([&]() -> call_result_t<F> { return call_with_token(runner, std::move(f_.get())); });
    }
    f_.reset();
    this->complete();
  }
  [[nodiscard]] bool runs_to_end() const noexcept override { return true; }
  void drop() noexcept override {
    f_.reset();
    future_state::drop();
  }
  void dispose() noexcept override { dispose_state(this); }
};

/// A callable that returns a future, whose result becomes this one's.
template<class F>
class future_job : public state_of<typename flattened<call_result_t<F>>::type>, stop_listener {
  using result = typename flattened<call_result_t<F>>::type;
  until_called<F> f_; // lives until the inner future ends
  mutex mutex_;
  state_ref inner_; // guarded by mutex_
  future_state* next_to_ask_ = nullptr;
  relay_waiter relay_{&deliver, this};

  static void deliver(future_waiter& base, completions& more) noexcept {
    auto& relay = static_cast<relay_waiter&>(base);
    static_cast<future_job*>(relay.target)->take_over();
    more.push(relay);
  }

  [[nodiscard]] state_ref inner_now() noexcept {
    std::lock_guard const guard(mutex_);
    return inner_;
  }
  /// By a scope around. Who cancels the future sees to its inputs itself, however many there are in a row.
  void stop_requested() noexcept override {
    if (this->asked.load(std::memory_order_acquire)) return; // cancel_inputs() does it
    if (state_ref const inner = inner_now()) {
      this->hold(); // a stop callback may complete the inner one, and so end this
      state_ref const held(this);
      inner->cancel();
      leave(*inner.get());
    }
  }
  /// It was stopped: if nothing runs for the inner future, it does not wait for that. It ends by a task: the
  /// callable is destroyed there, and not inside cancel().
  void leave(future_state& inner) noexcept {
    if (!ends_without(inner, true) || !inner.waiters.remove(relay_)) return;
    this->stop.remove(*this);
    {
      std::lock_guard const guard(mutex_);
      inner_ = {};
    }
    end_later(*this, [](future_state& s) noexcept {
      auto& self = static_cast<future_job&>(s);
      self.fail(cancelled_error());
      self.f_.reset();
      self.complete();
    });
  }
  void take_over() noexcept {
    this->stop.remove(*this);
    state_ref inner;
    {
      std::lock_guard const guard(mutex_);
      inner = std::move(inner_);
    }
    this->slot().take_over(result_of<result>(*inner.get()));
    f_.reset();
  }

public:
  template<class... Args>
  explicit future_job(std::uint32_t holders, Args&&... args)
      : state_of<result>(holders)
      , f_(std::forward<Args>(args)...) {}
  template<class... Args>
  explicit future_job(stop_link& around, std::uint32_t holders, Args&&... args)
      : state_of<result>(holders, around)
      , f_(std::forward<Args>(args)...) {}

  [[nodiscard]] F& callable() noexcept { return f_.get(); }

  void resume(member& runner) noexcept override;
  void drop() noexcept override {
    f_.reset();
    future_state::drop();
  }
  void cancel_inputs(cancellation& all) noexcept override {
    if (state_ref const inner = inner_now()) {
      all.add(*inner.get());
      leave(*inner.get());
    }
  }
  [[nodiscard]] future_state** next_to_ask() noexcept override { return &next_to_ask_; }
  void dispose() noexcept override { dispose_state(this); }
};

// In task.hpp: whoever has a task has that.
template<class F>
class coroutine_job;
template<class T>
class task_holder;
template<class A>
struct awaiting;

template<class F>
struct job_for {
  using flat = flattened<call_result_t<F>>;
  using type = std::conditional_t<flat::is_task, coroutine_job<F>,
                                  std::conditional_t<flat::is_future, future_job<F>, value_job<F>>>;
};

} // namespace rubato::detail
