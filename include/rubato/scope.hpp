// Scopes: any number of tasks that may borrow what outlives the scope, and all end before it does.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/scope_core.hpp"
#include "rubato/detail/token_in_force.hpp"
#include "rubato/task.hpp"
#include "rubato/thread_pool.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

/// Waits on the calling thread as a member of the scope's pool; then throws the first exception.
void wait_in_scope(scope_core& s);
/// The same without the exception, and without failing.
void wait_until_ended(scope_core& s) noexcept;

struct with_async_scope_fn;
struct scope_access;

/// What scopes and task groups can do.
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

  /// Adds f(), or f(std::stop_token), or a task, to the scope; a task or future that f returns is waited for,
  /// and f lives until then. The result is dropped. The first exception stops the scope and is thrown where
  /// it is waited for. f is decay-copied. Throws std::bad_alloc.
  template<class F>
  void spawn(F&& f) {
    using type = std::decay_t<F>;
    if constexpr (!can_be_child<F>()) {
      return;
    } else if constexpr (is_task<type>::value) {
      member_job<task_holder<typename type::value_type>>::start(core_, future_state::any_seat,
                                                                std::forward<F>(f));
    } else {
      using flat = flattened<call_result_t<type>>;
      if constexpr (flat::is_task || flat::is_future)
        member_job<type>::start(core_, future_state::any_seat, std::forward<F>(f));
      else
        core_.spawn(make_child(std::forward<F>(f)));
    }
  }
  /// The same on one seat alone. Throws std::out_of_range unless seat < pool::size().
  template<class F>
  void spawn_on(unsigned seat, F&& f) {
    using type = std::decay_t<F>;
    std::uint16_t const where = checked_seat(core_.core(), seat);
    if constexpr (!can_be_child<F>())
      return;
    else if constexpr (is_task<type>::value)
      member_job<task_holder<typename type::value_type>>::start(core_, where, std::forward<F>(f));
    else
      member_job<type>::start(core_, where, std::forward<F>(f));
  }
  /// Waits until all that was spawned so far has ended, running what nobody has begun; then throws the first
  /// exception. More can be spawned afterwards, unless the scope was stopped. Not from a task of this scope.
  /// A thread outside the pool joins it for the time. In a scope of with_async_scope() it throws
  /// std::logic_error: see join().
  void wait() { wait_in_scope(core_); }
  /// co_await join(): as wait(), in a coroutine.
  scope_joiner join() noexcept { return {core_, true}; }
  /// Begins nothing new and asks what runs to stop, the body of with_scope() too, whose waits end. So does a
  /// stop request from around, to the task that has opened the scope. Unless the body throws, with_scope()
  /// then ends without an exception, though children were left out: see token().
  void request_stop() noexcept { core_.request_stop(); }
  [[nodiscard]] std::stop_token token() const { return core_.token(); }
};

} // namespace detail

/// What with_scope() and with_async_scope() pass to their callable. Every member may be called from any
/// thread while the scope lasts, from its tasks too.
class scope : public detail::scope_base {
  friend struct detail::with_scope_fn;
  friend struct detail::with_async_scope_fn;
  using scope_base::scope_base;
};

/// A scope as an object, for work that no single call encloses. Thread-safe but for the destructor. Its pool
/// must outlive it.
class task_group : public detail::scope_base {
public:
  /// On the current pool: the caller's own, else the global one.
  task_group()
      : task_group(detail::pool_or_current(nullptr)) {}
  explicit task_group(pool& p)
      : scope_base(*detail::core_of(p), *detail::current, detail::scope_core::lifetime::free) {}
  /// Waits. An exception that nobody has fetched with wait() is dropped. A group may outlive the scope in
  /// whose task it was made, and so is not stopped with it.
  ~task_group() { detail::wait_until_ended(core_); }
};

namespace detail {

struct scope_access {
  [[nodiscard]] static scope_core& core(scope_base& s) noexcept { return s.core_; }
};

struct with_scope_fn {
  /// Calls f(scope&), waits for everything that was spawned in the scope, and returns f's result; a task or
  /// future that f returns is waited for.
  ///
  /// The first exception, of f or of a child, stops the whole scope: nothing new is begun, tokens show the
  /// stop, and waits end early, in f too, as `cancelled` or by a value that says so. That exception is thrown
  /// when all have ended. A `cancelled` that comes of the stop does not count. Waits for what borrows the
  /// frame (inner scopes, joins, loops, run, blocking, block_on) end with that work. A spawn costs one
  /// allocation from the thread's cache and one or two short critical sections.
  template<class F>
  auto operator()(F&& f) const -> brought_if_fits_t<F&, scope&> {
    static_assert(fits<F&, scope&>, "rubato: with_scope(f): f must be callable as f(scope&)");
    if constexpr (fits<F&, scope&>) {
      member& me = *current;
      if (me.core != nullptr) return run(me, f);
      return (*this)(pool_or_current(nullptr), std::forward<F>(f));
    } else {
      return {};
    }
  }
  template<class F>
  auto operator()(pool& p, F&& f) const -> brought_if_fits_t<F&, scope&> {
    static_assert(fits<F&, scope&>, "rubato: with_scope(pool, f): f must be callable as f(scope&)");
    if constexpr (fits<F&, scope&>) {
      using result = brought_t<F&, scope&>;
      auto body = [&](member& me) -> value_of<result> {
        if constexpr (std::is_void_v<result>)
          return run(me, f), value_of<result>{};
        else
          return run(me, f);
      };
      return static_cast<result>(on_pool(&p, body));
    } else {
      return {};
    }
  }

private:
  template<class F>
  static auto run(member& me, F& f) -> brought_t<F&, scope&> {
    using result_type = brought_t<F&, scope&>;
    scope s(*me.core, me, scope_core::lifetime::enclosed);
    auto guarded = [&]() -> decltype(auto) {
      std::exception_ptr error;
      try {
        token_in_force const token(me.chain, &s.core_.stop());
        return call_and_wait(me, f, s);
      } catch (...) {
        error = std::current_exception();
      }
      // After the handler, so that what runs here meanwhile sees nothing of f's exception.
      s.core_.body_failed(error);
      s.core_.wait(me);
      std::exception_ptr first = s.core_.take_error();
      std::rethrow_exception(first != nullptr ? std::move(first) : std::move(error));
    };
    if constexpr (std::is_void_v<result_type>) {
      guarded();
      wait_in_scope(s.core_);
    } else if constexpr (std::is_reference_v<result_type>) {
      auto&& result = guarded();
      wait_in_scope(s.core_);
      return static_cast<result_type>(result);
    } else {
      auto result = guarded();
      wait_in_scope(s.core_);
      return result;
    }
  }
};

struct with_async_scope_fn {
  /// co_await with_async_scope(f, args...): awaits f(scope&, args...), a task, then everything that was
  /// spawned in the scope, and yields f's result. Exceptions as with with_scope(). It blocks no worker. f and
  /// the arguments are decay-copied and live until the end.
  template<class F, class... Args>
    requires(!std::is_same_v<std::remove_cvref_t<F>, pool>)
  auto operator()(F&& f, Args&&... args) const {
    return start(nullptr, std::forward<F>(f), std::forward<Args>(args)...);
  }
  /// The same, but what is spawned in the scope runs on that pool; f stays where it is awaited.
  template<class F, class... Args>
  auto operator()(pool& p, F&& f, Args&&... args) const {
    return start(&p, std::forward<F>(f), std::forward<Args>(args)...);
  }

private:
  template<class F, class... Args>
  static constexpr bool returns_task() {
    if constexpr (std::is_invocable_v<F, Args...>)
      return is_task<std::invoke_result_t<F, Args...>>::value;
    else
      return false;
  }
  template<class F, class... Args>
  static auto start(pool* where, F&& f, Args&&... args) {
    constexpr bool kept = can_be_kept<F, Args...>;
    constexpr bool called = returns_task<std::decay_t<F>&, scope&, std::decay_t<Args>...>();
    static_assert(kept,
                  "rubato: with_async_scope(f, args...): f and the arguments are copied unless they are "
                  "passed as rvalues: std::move what cannot be copied");
    if constexpr (kept)
      static_assert(called,
                    "rubato: with_async_scope(f, args...): f must be callable as f(scope&, args...) and "
                    "return a task; with_scope() takes what does not");
    if constexpr (kept && called)
      return run<std::decay_t<F>, std::decay_t<Args>...>(where, std::forward<F>(f),
                                                         std::forward<Args>(args)...);
    else
      return refused();
  }

  template<class F, class... Args>
  using result_t = typename flattened<std::invoke_result_t<F&, scope&, Args...>>::type;

  template<class F, class... Args>
  static rubato::task<result_t<F, Args...>> run(pool* where, F f, Args... args) {
    activity& self = *this_trampoline().running;
    scope s(where != nullptr ? *core_of(*where) : *self.home(), self);
    scope_core& core = scope_access::core(s);
    stop_scope& around = self.scope();
    scope_stopper const stopper(core, around);
    result_slot<result_t<F, Args...>> result;
    std::exception_ptr error;
    self.stops_with(core.stop());
    try {
      auto body = std::invoke(f, s, std::move(args)...);
      if constexpr (std::is_void_v<result_t<F, Args...>>) {
        co_await std::move(body);
        result.emplace();
      } else {
        result.emplace(co_await std::move(body));
      }
    } catch (...) {
      error = std::current_exception();
    }
    self.stops_with(around);
    if (error != nullptr) core.body_failed(error);
    co_await scope_joiner(core, error == nullptr);
    if (error != nullptr) {
      std::exception_ptr first = core.take_error();
      std::rethrow_exception(first != nullptr ? std::move(first) : std::move(error));
    }
    co_return static_cast<result_t<F, Args...>>(result.take());
  }
};

} // namespace detail

inline constexpr detail::with_scope_fn with_scope{};
inline constexpr detail::with_async_scope_fn with_async_scope{};

} // namespace rubato
