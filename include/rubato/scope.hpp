// Scopes: any number of tasks that may borrow what outlives the scope, and all end before it does.
#pragma once

#include "rubato/detail/scope_core.hpp"
#include "rubato/pool.hpp"

#include <exception>
#include <functional>
#include <stop_token>
#include <utility>

namespace rubato {

/// What with_scope() passes to its callable. Every member may be called from any thread while the scope
/// lasts, from its tasks too.
class scope {
  friend struct detail::with_scope_fn;
  detail::scope_core core_;

  scope(detail::pool_core& c, detail::member& opener)
      : core_(c, opener, detail::scope_core::lifetime::enclosed) {}

public:
  /// Adds f(), or f(std::stop_token), to the scope. The result is dropped. The first exception stops the
  /// scope and is thrown where it is waited for. f is decay-copied. Throws std::bad_alloc.
  template<class F>
  void spawn(F&& f) {
    core_.spawn(detail::make_child(std::forward<F>(f)));
  }
  /// Waits until all that was spawned so far has ended, running what nobody has begun; then throws the first
  /// exception. More can be spawned afterwards, unless the scope was stopped. Not from a task of this scope.
  void wait();
  /// Begins nothing new and asks what runs to stop.
  void request_stop() noexcept { core_.request_stop(); }
  [[nodiscard]] std::stop_token token() const { return core_.token(); }
};

/// A scope as an object, for work that no single call encloses. Thread-safe but for the destructor.
class task_group {
  detail::scope_core core_;

public:
  /// On the current pool: the caller's own, else the global one.
  task_group()
      : task_group(detail::pool_or_current(nullptr)) {}
  explicit task_group(pool& p)
      : core_(*detail::core_of(p), *detail::current, detail::scope_core::lifetime::free) {}
  /// Waits. An exception that nobody has fetched with wait() is dropped. A group may outlive the scope in
  /// whose task it was made, and so is not stopped with it.
  ~task_group();
  task_group(task_group const&) = delete;
  task_group& operator=(task_group const&) = delete;

  /// As scope::spawn.
  template<class F>
  void spawn(F&& f) {
    core_.spawn(detail::make_child(std::forward<F>(f)));
  }
  /// As scope::wait. A thread outside the pool joins it for the time.
  void wait();
  /// As in a scope; the group stays stopped.
  void request_stop() noexcept { core_.request_stop(); }
  [[nodiscard]] std::stop_token token() const { return core_.token(); }
};

namespace detail {

/// Waits on the calling thread as a member of the scope's pool; then throws the first exception.
void wait_in_scope(scope_core& s);
/// The same without the exception, and without failing.
void wait_until_ended(scope_core& s) noexcept;

struct with_scope_fn {
  /// Calls f(scope&), waits for everything that was spawned in the scope, and returns f's result. If f
  /// throws, the scope is stopped and waited for, and f's exception wins. Nothing new is begun after the
  /// first exception of a task, which is thrown after all have ended. A spawn costs one allocation from the
  /// thread's cache and two short critical sections.
  template<class F>
  auto operator()(F&& f) const -> std::invoke_result_t<F&, scope&> {
    member& me = *current;
    if (me.core != nullptr) return run(me, f);
    return (*this)(pool_or_current(nullptr), std::forward<F>(f));
  }
  template<class F>
  auto operator()(pool& p, F&& f) const -> std::invoke_result_t<F&, scope&> {
    using result = std::invoke_result_t<F&, scope&>;
    auto body = [&](member& me) -> value_of<result> {
      if constexpr (std::is_void_v<result>)
        return run(me, f), value_of<result>{};
      else
        return run(me, f);
    };
    return static_cast<result>(on_pool(&p, body));
  }

private:
  template<class F>
  static auto run(member& me, F& f) -> std::invoke_result_t<F&, scope&> {
    scope s(*me.core, me);
    auto guarded = [&]() -> decltype(auto) {
      std::exception_ptr error;
      try {
        return std::invoke(f, s);
      } catch (...) {
        error = std::current_exception();
      }
      // After the handler, so that what runs here meanwhile sees nothing of f's exception.
      s.core_.request_stop();
      s.core_.wait(me);
      std::rethrow_exception(error);
    };
    if constexpr (std::is_void_v<std::invoke_result_t<F&, scope&>>) {
      guarded();
      wait_in_scope(s.core_);
    } else if constexpr (std::is_reference_v<std::invoke_result_t<F&, scope&>>) {
      auto&& result = guarded();
      wait_in_scope(s.core_);
      return static_cast<std::invoke_result_t<F&, scope&>>(result);
    } else {
      auto result = guarded();
      wait_in_scope(s.core_);
      return result;
    }
  }
};

} // namespace detail

inline void scope::wait() { detail::wait_in_scope(core_); }

inline constexpr detail::with_scope_fn with_scope{};

} // namespace rubato
