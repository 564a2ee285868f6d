// One thing at a time, in order, on whichever worker is free.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/continuation.hpp"
#include "rubato/detail/coroutine_job.hpp"
#include "rubato/detail/pool_access.hpp"
#include "rubato/detail/unattended.hpp"
#include "rubato/future.hpp"
#include "rubato/thread_pool.hpp"

#include <atomic>
#include <functional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

/// A callable as a continuation of what is before it in a strand, whose result is not its business.
template<class F>
class strand_call {
  [[no_unique_address]] F f_;

public:
  static constexpr bool ends_with_source = true; // if that is broken off
  /// Set once that has ended; let go of before the call, or a strand would keep all of its past.
  state_ref source;

  explicit strand_call(F&& f)
      : f_(std::move(f)) {}
  decltype(auto) operator()(std::stop_token token)
    requires wants_token<F>
  {
    source = {};
    return std::invoke(std::move(f_), std::move(token));
  }
  decltype(auto) operator()()
    requires(!wants_token<F>)
  {
    source = {};
    return std::invoke(std::move(f_));
  }
};

} // namespace detail

/// Runs what it is given one at a time and in the order in which it was given, on any worker of a pool: each
/// begins when the one before has ended. A coroutine has ended when it has returned, not where it is
/// suspended; so it must not wait for what comes behind it in the same strand. What an exception or a
/// cancellation ends makes room for the next like anything else.
///
/// Costs no thread and no lock. Any number of threads may use a strand at once. It may be destroyed at any
/// time, and what it was given goes on; the pool must outlive it. Until the next comes, it keeps the result
/// of the last one that was not fetched. When the pool ends and breaks off one of them, those behind it
/// are broken off as well. In the child after fork() what had not ended is broken, and the strand can be
/// used.
class strand {
  pool* pool_;
  std::atomic<detail::future_state*> last_{nullptr}; // a hold on the newest; null: there was none yet

  /// Behind the newest. What it makes is there, so that no user code runs in between.
  template<class Job>
  void append(Job& made, detail::pool_core& core) noexcept {
    made.hold();
    // acq_rel: a thread that follows it sees it whole. It may be followed before it is attached itself.
    detail::state_ref before(last_.exchange(&made, std::memory_order_acq_rel));
    if (before && before->home() != &core && detail::was_lost_in_fork(*before.get()))
      static_cast<void>(before.let_go());
    made.attach(std::move(before));
  }

public:
  explicit strand(pool& p) noexcept
      : pool_(&p) {}
  strand(strand const&) = delete;
  strand& operator=(strand const&) = delete;
  ~strand() { detail::state_ref const last(last_.load(std::memory_order_acquire)); }

  /// f(args...), or f(std::stop_token, args...), and the future of its result, as pool::spawn(): a task or
  /// future that f returns is waited for; work whose future is dropped before its turn comes is not begun.
  /// Not limited by pool_options::max_queued(), but refused as pool::spawn() is while the pool ends. Throws
  /// std::bad_alloc, and what copying throws.
  template<class F, class... Args>
  auto spawn(F&& f, Args&&... args) {
    using call_type = std::conditional_t<sizeof...(Args) == 0, std::decay_t<F>,
                                         detail::bound_call<std::decay_t<F>, std::decay_t<Args>...>>;
    if constexpr (detail::can_be_spawned<F, Args...>()) {
      using job = typename detail::job_for<detail::strand_call<call_type>>::type;
      using result = typename detail::flattened<detail::call_result_t<call_type>>::type;
      detail::pool_core& core = *detail::core_of(*pool_);
      detail::admit(core);
      auto* const made = detail::make_state<detail::placed_continuation<job>>(
          core, true, detail::state_ref(), false, call_type(std::forward<F>(f), std::forward<Args>(args)...));
      future<result> out = detail::future_access::make<result>(detail::state_ref(made));
      append(*made, core);
      return out;
    } else {
      return detail::refused();
    }
  }
  /// The same for a coroutine.
  template<class T>
  future<T> spawn(task<T> t) {
    return spawn(detail::task_holder<T>(std::move(t)));
  }

  /// The same without a result, as pool::enqueue(): an exception goes to on_unhandled.
  template<class F>
  void enqueue(F&& f) {
    if constexpr (detail::can_be_queued<F>()) {
      using job = detail::unattended_job<detail::strand_call<std::decay_t<F>>>;
      detail::pool_core& core = *detail::core_of(*pool_);
      detail::admit(core);
      auto* const made = detail::make_state<detail::placed_continuation<job>>(
          core, true, detail::state_ref(), false, std::decay_t<F>(std::forward<F>(f)));
      made->watch(core);
      append(*made, core);
    }
  }
  template<class T>
  void enqueue(task<T> t) {
    enqueue(detail::task_holder<T>(std::move(t)));
  }
};

} // namespace rubato
