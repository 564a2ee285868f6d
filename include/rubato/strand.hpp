// A strand runs its tasks one at a time, in order, on any free worker.
//
//   #include <rubato/strand.hpp>
//
//   #include <cstdio>
//   #include <string>
//
//   int main() {
//     rubato::pool pool(4);
//     std::string log; // needs no lock
//     rubato::strand writer(pool);
//     for (char c : std::string("in order")) writer.enqueue([&log, c] { log += c; });
//     writer.spawn([&log] { std::puts(log.c_str()); }).get(); // -> in order
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/coro/coroutine_job.hpp"
#include "rubato/detail/future/continuation.hpp"
#include "rubato/detail/future/detached.hpp"
#include "rubato/detail/sched/pool_access.hpp"
#include "rubato/future.hpp"
#include "rubato/thread_pool.hpp"

#include <functional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

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

} // namespace detail

/// Runs its tasks one at a time, in the order in which they were added, on any worker of a pool. Each task
/// begins when its predecessor has ended: returned, thrown, or been cancelled. A suspended coroutine has not
/// ended, so it must not wait for a later task of the same strand.
///
/// Thread-safe. Named after the strands of Asio. A strand uses no thread and no lock, and adding a task takes
/// amortised O(1). It may be destroyed at any time, and its tasks still run; the pool must outlive it. It
/// keeps the result of its newest task until the next one is added, unless the result was fetched. If the
/// pool's end destroys a task unfinished, it destroys all later tasks too. In the child after fork() the
/// futures of unfinished tasks throw broken_promise, and the strand can be used again.
class strand {
  pool* pool_;
  detail::single_slot<detail::future_state> last_; // owns a reference to the newest task; null: none yet

  /// Appends a job that is already built, so that no user code runs in between.
  template<class Job>
  void append(Job& made, detail::pool_core& core) noexcept {
    made.hold();
    // The next job may be attached to this one before this one is attached.
    detail::state_ref before(last_.put(&made));
    if (before && before->home() != &core && detail::was_lost_in_fork(*before.get()))
      static_cast<void>(before.let_go());
    made.attach(std::move(before));
  }

public:
  /// The pool must outlive the strand.
  explicit strand(pool& p) noexcept
      : pool_(&p) {}
  ~strand() { detail::state_ref const last(last_.take()); }

  /// Adds f(args...), or f(std::stop_token, args...), and returns the future of its result, as pool::spawn()
  /// does. A task or future that f returns is awaited. If the future is dropped before the task begins, the
  /// task never begins. pool_options::max_queued() does not apply. Throws cancelled if the pool refuses tasks
  /// because it ends, std::bad_alloc, and exceptions of copying.
  template<class F, class... Args>
  auto spawn(F&& f, Args&&... args) {
    return add(priority::normal, std::forward<F>(f), std::forward<Args>(args)...);
  }
  /// spawn() with a priority. Tasks of the strand that wait before this one get the same priority, if theirs
  /// is lower: the order stays.
  template<class F, class... Args>
  auto spawn(priority p, F&& f, Args&&... args) {
    return add(p, std::forward<F>(f), std::forward<Args>(args)...);
  }
  /// spawn() of a coroutine.
  template<class T>
  future<T> spawn(task<T>&& t) {
    return add(priority::normal, detail::task_holder<T>(std::move(t)));
  }
  template<class T>
  future<T> spawn(priority p, task<T>&& t) {
    return add(p, detail::task_holder<T>(std::move(t)));
  }

  /// Adds a task without a future, as pool::enqueue(): the pool passes an exception to on_unhandled.
  template<class F>
  void enqueue(F&& f) {
    enqueue(priority::normal, std::forward<F>(f));
  }
  template<class F>
  void enqueue(priority p, F&& f) {
    if constexpr (detail::can_be_queued<F>()) {
      using job = detail::detached_job<detail::strand_call<std::decay_t<F>>>;
      detail::pool_core& core = *detail::core_of(*pool_);
      detail::admit(core);
      auto* const made = detail::make_in_slab<detail::placed_continuation<job>>(
          core, true, detail::state_ref(), false, std::decay_t<F>(std::forward<F>(f)));
      made->queued.set_class(p);
      made->watch(core);
      append(*made, core);
    }
  }
  template<class T>
  void enqueue(task<T>&& t) {
    enqueue(priority::normal, detail::task_holder<T>(std::move(t)));
  }
  template<class T>
  void enqueue(priority p, task<T>&& t) {
    enqueue(p, detail::task_holder<T>(std::move(t)));
  }

private:
  template<class F, class... Args>
  auto add(priority p, F&& f, Args&&... args) {
    using call_type = std::conditional_t<sizeof...(Args) == 0, std::decay_t<F>,
                                         detail::bound_call<std::decay_t<F>, std::decay_t<Args>...>>;
    if constexpr (detail::can_be_spawned<F, Args...>()) {
      using job = typename detail::job_for<detail::strand_call<call_type>>::type;
      using result = typename detail::flattened<detail::call_result_t<call_type>>::type;
      detail::pool_core& core = *detail::core_of(*pool_);
      detail::admit(core);
      auto* const made = detail::make_in_slab<detail::placed_continuation<job>>(
          core, true, detail::state_ref(), false, call_type(std::forward<F>(f), std::forward<Args>(args)...));
      made->queued.set_class(p);
      future<result> out = detail::future_access::make<result>(detail::state_ref(made));
      append(*made, core);
      return out;
    } else {
      return detail::refused();
    }
  }
};

} // namespace rubato
