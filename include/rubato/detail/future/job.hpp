// Work with a result: a callable, and the future that it may return. docs/design/futures.md
#pragma once

#include "rubato/detail/sched/run/queuing.hpp"
#include "rubato/detail/trace/note.hpp"
#include "rubato/detail/work/callable.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "rubato/priority.hpp"

#include <concepts>
#include <functional>
#include <memory>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// A callable with its decay-copied arguments, which are passed on as rvalues, or, if it is const, as
/// constants. It takes a stop token if the callable takes one before the arguments.
template<class F, class... Args>
class bound_call {
  F f_;
  std::tuple<Args...> args_;

public:
  template<class G, class... As>
  explicit bound_call(G&& g, As&&... as)
      : f_(std::forward<G>(g))
      , args_(std::forward<As>(as)...) {}

  template<std::same_as<std::stop_token>... Token>
    requires std::is_invocable_v<F, Token..., Args...>
  decltype(auto) operator()(Token... token) {
    return std::apply(
        [&](Args&... as) -> decltype(auto) {
          note_call(f_);
          return std::invoke(std::move(f_), std::move(token)..., std::move(as)...);
        },
        args_);
  }
  template<std::same_as<std::stop_token>... Token>
    requires std::is_invocable_v<F const&, Token..., Args const&...>
  decltype(auto) operator()(Token... token) const {
    return std::apply(
        [&](Args const&... as) -> decltype(auto) { return std::invoke(f_, std::move(token)..., as...); },
        args_);
  }
};

/// True if pool::spawn() accepts these; otherwise an assertion fails with a message.
template<class F, class... Args>
[[nodiscard]] consteval bool can_be_spawned() {
  constexpr bool kept = can_be_kept<F, Args...>, called = fits<std::decay_t<F>, std::decay_t<Args>...>;
  constexpr bool late = (std::is_same_v<std::remove_cvref_t<Args>, priority> || ...) && !called;
  static_assert(!is_named_task<F>, "rubato: spawn(t): a task with a name is moved: spawn(std::move(t))");
  static_assert(kept || is_named_task<F>,
                "rubato: spawn(f, args...): f and the arguments are copied unless they are passed as "
                "rvalues: std::move what cannot be copied");
  static_assert(!late, "rubato: spawn(priority, f, args...): the priority comes before f");
  if constexpr (kept && !late)
    static_assert(called, "rubato: spawn(f, args...): f must be callable as f(args...), with copies of the "
                          "arguments as rvalues; std::ref passes a reference on");
  if constexpr (kept && called)
    return can_be_returned<call_result_t<std::decay_t<F>, std::decay_t<Args>...>>();
  else
    return false;
}

/// The call that spawn(f, args...) makes.
template<class F, class... Args>
using spawned_call = std::conditional_t<sizeof...(Args) == 0, std::decay_t<F>,
                                        bound_call<std::decay_t<F>, std::decay_t<Args>...>>;

/// Calls f with the running work's token, or without one.
template<class F>
call_result_t<F> call_with_token(thread_context& me, F&& f) {
  note_call(f);
  if constexpr (wants_token<F>)
    return std::invoke(std::forward<F>(f), current_token(me));
  else
    return std::invoke(std::forward<F>(f));
}

/// A callable that can be destroyed before its owner is.
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

/// A base class, so that it is built before the state that refers to it.
struct link_holder {
  stop_link link;
  explicit link_holder(stop_scope* around) noexcept
      : link(around) {}
};

/// A callable, and the storage for its result.
template<class F>
class closure_job : public state_of<typename flattened<call_result_t<F>>::type> {
protected:
  using result = typename flattened<call_result_t<F>>::type;
  until_called<F> f_;

public:
  template<class... Args>
  closure_job(std::uint32_t holders, stop_link* around, Args&&... args)
      : state_of<result>(holders, around)
      , f_(std::forward<Args>(args)...) {}
  [[nodiscard]] F& callable() noexcept { return f_.get(); }
  void drop() noexcept override {
    f_.reset();
    future_state::drop();
  }
};

/// A callable that returns a value.
template<class F>
class value_job : public closure_job<F> {
public:
  using closure_job<F>::closure_job;

  void resume(thread_context& runner) noexcept override {
    if (this->stop.stop_requested()) {
      this->skipped();
      this->fail(cancelled_error());
    } else {
      token_in_force const token(runner.chain, &this->stop);
      this->slot().fill(
          [&]() -> call_result_t<F> { return call_with_token(runner, std::move(this->f_.get())); });
    }
    this->f_.reset();
    this->complete();
  }
  [[nodiscard]] bool runs_to_end() const noexcept override { return true; }
};

/// A callable that returns a future, whose result becomes this state's. The callable lives until that future
/// ends.
template<class F>
class future_job : public closure_job<F>, stop_listener {
  using result = typename closure_job<F>::result;
  using closure_job<F>::f_;
  mutex mutex_;
  state_ref inner_ RUBATO_GUARDED_BY(mutex_);
  future_state* next_to_ask_ = nullptr;
  relay_waiter relay_{&deliver, this};

  static void deliver(future_waiter& base, completions& more) noexcept {
    auto& relay = static_cast<relay_waiter&>(base);
    static_cast<future_job*>(relay.target)->take_over();
    more.push(relay);
  }

  [[nodiscard]] state_ref inner_now() noexcept {
    lock_guard const guard(mutex_);
    return inner_;
  }
  /// Called for a stop of an outer scope. A thread that cancels the future stops its inputs itself, however
  /// many there are in a row.
  void stop_requested() noexcept override {
    if (this->asked.is_raised()) return; // cancel_inputs() stops the inner future
    if (state_ref const inner = inner_now()) {
      this->hold(); // a stop callback may complete the inner future, and so this
      state_ref const held(this);
      inner->cancel();
      leave(*inner.get());
    }
  }
  /// It was stopped: if no work runs for the inner future, it does not wait for that future. It ends in a
  /// task: the callable is destroyed there, and not inside cancel().
  void leave(future_state& inner) noexcept {
    if (!ends_without(inner, true) || !inner.waiters.remove(relay_)) return;
    this->stop.remove(*this);
    {
      lock_guard const guard(mutex_);
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
      lock_guard const guard(mutex_);
      inner = std::move(inner_);
    }
    this->was_cut = inner->is_cut();
    this->slot().take_over(result_of<result>(*inner.get()));
    f_.reset();
  }

public:
  using closure_job<F>::closure_job;

  void resume(thread_context& runner) noexcept override;
  void cancel_inputs(cancellation& all) noexcept override {
    if (state_ref const inner = inner_now()) {
      all.add(*inner.get());
      leave(*inner.get());
    }
  }
  [[nodiscard]] future_state** next_to_ask() noexcept override { return &next_to_ask_; }
};

// Defined in task_impl.hpp, which task.hpp includes, as every user of a task does.
template<class F>
class coroutine_job;

/// True if it goes on after the call has returned.
template<class F>
inline constexpr bool goes_on = flattened<call_result_t<std::decay_t<F>>>::is_task ||
                                flattened<call_result_t<std::decay_t<F>>>::is_future;

template<class F>
struct job_for {
  using flat = flattened<call_result_t<F>>;
  using type = std::conditional_t<flat::is_task, coroutine_job<F>,
                                  std::conditional_t<flat::is_future, future_job<F>, value_job<F>>>;
};

} // namespace rubato::detail
