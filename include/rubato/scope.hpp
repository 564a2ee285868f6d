// Scopes: tasks that may use the local variables around the scope. All tasks end before the scope does.
//
//   #include <rubato/scope.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     int squares[3];
//     rubato::with_scope([&](rubato::scope& s) {
//       for (int i = 0; i != 3; ++i)
//         s.spawn([&squares, i] { squares[i] = i * i; }); // may borrow locals outside the scope
//     }); // waits for all tasks; throws the first exception
//     std::printf("%d %d %d\n", squares[0], squares[1], squares[2]); // -> 0 1 4
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/scope/scope_core.hpp"
#include "rubato/thread_pool.hpp"

#include <stop_token>
#include <utility>

namespace rubato {

namespace detail {

struct scope_access;

/// The common part of scopes and task groups.
class scope_base {
  friend struct scope_access;

protected:
  scope_core core_;

  template<class... Args>
  explicit scope_base(Args&&... args)
      : core_(std::forward<Args>(args)...) {}
  ~scope_base() = default;

public:
  scope_base(scope_base const&) = delete;
  scope_base& operator=(scope_base const&) = delete;

  /// Adds f(), or f(std::stop_token), or a task, to the scope. f is decay-copied. A task or future that f
  /// returns is awaited, and f lives until it ends. The result is dropped. The first exception stops the
  /// scope, and the function that waits for the scope throws it. In a stopped scope f is destroyed and never
  /// called. Throws std::bad_alloc.
  template<class F>
  void spawn(F&& f) {
    add_child(core_, std::forward<F>(f));
  }
  /// spawn(f) with a priority. A high or low child is queued in its priority. A normal child is like one
  /// without a priority.
  template<class F>
  void spawn(priority p, F&& f) {
    add_child(core_, p, std::forward<F>(f));
  }
  /// As spawn(), for a child whose result is wanted: async(f, args...), or async(task), returns a future. f
  /// and the arguments are decay-copied, the arguments are passed as rvalues, and all of them live until the
  /// child ends. The scope waits for the child, whether or not its future is kept. If the child fails, its
  /// exception is the scope's, and is in the future as well; it never goes to on_unhandled. future::cancel(),
  /// and dropping the future, stop this child alone: then its `cancelled` is no failure, and the scope was
  /// not cut. In a stopped scope the child does not begin, and its future throws `cancelled`. The future may
  /// outlive the scope. What then() or when_all() makes of it is work of its own. Throws std::bad_alloc.
  template<class F, class... Args>
  auto async(F&& f, Args&&... args) {
    return add_child_with_future(core_, priority::normal, std::forward<F>(f), std::forward<Args>(args)...);
  }
  /// async(f, args...) with a priority.
  template<class F, class... Args>
  auto async(priority p, F&& f, Args&&... args) {
    return add_child_with_future(core_, p, std::forward<F>(f), std::forward<Args>(args)...);
  }
  /// Does not compile: f takes no arguments here.
  template<class F, class Arg, class... Args>
  void spawn(F&& /*f*/, Arg&& /*arg*/, Args&&... /*args*/) {
    static_assert(always_false<F>, "rubato: scope::spawn(f) passes no arguments: capture them, spawn([=] { "
                                   "f(arg); }), or write async(f, arg); a priority comes first");
  }
  /// spawn(f) on one seat only. Throws std::out_of_range unless seat < pool::size().
  template<class F>
  void spawn_on(unsigned seat, F&& f) {
    add_child_on_seat(core_, seat, std::forward<F>(f));
  }
  /// From now on the thread that waits for the scope begins the newest task first, and not the oldest. Other
  /// threads still take the oldest. A recursion that spawns into one scope then keeps few tasks at a time.
  /// Before the first spawn.
  void begin_newest_first() noexcept { core_.begin_newest_first(); }
  /// Runs tasks that have not begun and waits until all tasks spawned so far have ended, then throws the
  /// first exception. If there is none, and the scope was cut (see with_scope()), it throws `cancelled`, each
  /// time. More tasks can be spawned afterwards, unless the scope was stopped. A task of this scope must not
  /// call it. A thread outside the pool becomes a member for the duration of the call. In a scope of
  /// with_async_scope() it throws std::logic_error: use join().
  void wait() { wait_in_scope(core_); }
  /// co_await join(): as wait(), for a coroutine.
  scope_joiner join() noexcept { return {core_, true}; }
  /// Begins no further task, and asks running tasks and the body of with_scope() to stop; their waits end
  /// early. This is the scope's own decision: with_scope() and wait() then return without an exception,
  /// unless the body throws. After a stop from outside they throw `cancelled` if that stop has cut the scope.
  /// If both kinds reach the scope, the first decides. To learn whether tasks may have been skipped, test
  /// token().
  void request_stop() noexcept { core_.request_stop(); }
  /// Shows a stop of the scope or of the task that opened it.
  [[nodiscard]] std::stop_token token() const { return core_.token(); }
};

} // namespace detail

/// The scope that with_scope() and with_async_scope() pass to their callable. Thread-safe: any thread, also
/// in a task of the scope, may call its members while the scope lasts.
class scope : public detail::scope_base {
  friend struct detail::scope_access;
  using scope_base::scope_base;
};

/// A scope as an object, for tasks that several functions spawn. Thread-safe except for the destructor. Its
/// pool must outlive it.
class task_group : public detail::scope_base {
public:
  /// Runs its tasks on the current pool: the caller's own, else the global one.
  task_group()
      : task_group(detail::pool_or_current(nullptr)) {}
  explicit task_group(pool& p)
      : scope_base(*detail::core_of(p), *detail::current, detail::scope_core::lifetime::free) {}
  /// Waits for all tasks, and throws nothing: an exception that no wait() has thrown is dropped. A group may
  /// outlive the task that made it, so a stop of that task does not stop the group.
  ~task_group() { detail::wait_until_ended(core_); }
};

namespace detail {

struct with_scope_fn : pool_forms<with_scope_fn> {
  /// Calls f(scope&), or f(std::stop_token, scope&) if f accepts a token, waits for all tasks of the scope
  /// and returns f's result. A task or future that f returns is awaited.
  ///
  /// The first exception, of f or of a task, stops the whole scope: no further task begins, tokens show the
  /// stop, and waits end early, also in f, with `cancelled` or with a value that says so. Waits for borrowed
  /// work (inner scopes, joins, loops, run, blocking, block_on) end with that work. with_scope() throws the
  /// first exception when all tasks have ended. If a task throws `cancelled` because of the stop, that is no
  /// failure; if f does, with_scope() throws it.
  ///
  /// A stop from outside (the task around was cancelled, its deadline has passed, an outer scope was stopped,
  /// the pool discards, or its drain ended a child's wait for time or I/O) *cuts* the scope if a child did
  /// not begin because of it, or ended with `cancelled`. A scope that was cut throws `cancelled` at its end,
  /// as a loop does. An exception of a task or of f goes before that. So with_deadline() of a task that has a
  /// scope is empty if the deadline cut the scope. A spawn costs one allocation from the thread's cache and
  /// one or two short critical sections. Source: structured concurrency, as by spawn and sync in Cilk (Frigo
  /// et al., 1998).
  template<class F>
  static auto on(pool* p, F&& f) -> brought_if_fits_t<F&, scope&>;
};

struct with_async_scope_fn : pool_forms<with_async_scope_fn> {
  /// co_await with_async_scope(f, args...): calls f(scope&, args...), with a stop token first if f accepts
  /// one. f returns a task. Awaits that task and then all tasks of the scope, and yields f's result.
  /// Exceptions as in with_scope(). It blocks no worker. f and the arguments are decay-copied and live until
  /// the end. If a pool is given that is not closed, the scope's tasks run there; f runs where it is awaited.
  template<class F, class... Args>
  static auto on(pool* where, F&& f, Args&&... args);
};

} // namespace detail

inline constexpr detail::with_scope_fn with_scope{};
inline constexpr detail::with_async_scope_fn with_async_scope{};

} // namespace rubato

#include "rubato/detail/scope/scope_impl.hpp"
