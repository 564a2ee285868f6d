// The tasks of a strand. docs/design/futures.md
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/future/detached.hpp"
#include "rubato/detail/sched/wait/arrival.hpp"
#include "rubato/future.hpp"
#include "rubato/task.hpp"

#include <functional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// A callable as a continuation of its predecessor in a strand, whose result it ignores.
template<class F>
class strand_call {
  [[no_unique_address]] F f_;

public:
  static constexpr bool ends_with_source = true; // if the source is destroyed unfinished
  /// The predecessor, set once it has ended. Released before the call, or a strand would keep all of its
  /// past.
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

/// The end of a strand's chain of continuations. Thread-safe.
class strand_queue {
  pool* pool_;
  single_slot<future_state> last_; // owns a reference to the newest task; null: none yet

  /// Appends a job that is already built, so that no user code runs in between.
  template<class Job>
  void append(Job& made, pool_core& core) noexcept {
    made.hold();
    // The next job may be attached to this one before this one is attached.
    state_ref before(last_.put(&made));
    if (before && before->home() != &core && was_lost_in_fork(*before.get()))
      static_cast<void>(before.take());
    // A pool's end has destroyed it: what was behind it then has ended too, but not the strand.
    if (before && before->done() && before->broken_off) before = state_ref();
    made.attach(std::move(before));
  }

public:
  explicit strand_queue(pool& p) noexcept
      : pool_(&p) {}
  ~strand_queue() { state_ref const last(last_.take()); }

  template<class F, class... Args>
  auto add(priority p, F&& f, Args&&... args) {
    using call_type = std::conditional_t<sizeof...(Args) == 0, std::decay_t<F>,
                                         bound_call<std::decay_t<F>, std::decay_t<Args>...>>;
    if constexpr (can_be_spawned<F, Args...>()) {
      using job = typename job_for<strand_call<call_type>>::type;
      using result = typename flattened<call_result_t<call_type>>::type;
      pool_core& core = *core_of(*pool_);
      arrival const in(core, arriving::unlimited);
      auto* const made = make_in_slab<placed_continuation<job>>(
          core, true, state_ref(), false, call_type(std::forward<F>(f), std::forward<Args>(args)...));
      made->queued.set_priority(p);
      future<result> out = future_access::make<result>(state_ref(made));
      append(*made, core);
      return out;
    } else {
      return refused();
    }
  }

  /// Adds a task without a future.
  template<class F>
  void add_detached(priority p, F&& f) {
    if constexpr (can_be_queued<F>()) {
      using job = detached_job<strand_call<std::decay_t<F>>>;
      pool_core& core = *core_of(*pool_);
      arrival const in(core, arriving::unlimited);
      auto* const made = make_in_slab<placed_continuation<job>>(core, true, state_ref(), false,
                                                                std::decay_t<F>(std::forward<F>(f)));
      made->queued.set_priority(p);
      made->watch(core);
      append(*made, core);
    }
  }
};

} // namespace rubato::detail
