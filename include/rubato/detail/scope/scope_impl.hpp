// with_scope() and with_async_scope(). A part of scope.hpp. docs/design/scopes.md
#pragma once

#include "rubato/scope.hpp"
#include "rubato/task.hpp"

#include <exception>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Makes scopes.
struct scope_access {
  template<class F>
  static auto run(thread_context& me, F& f) -> brought_t<F&, scope&> {
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
      // After the handler, so that jobs run here meanwhile do not see f's exception.
      s.core_.body_failed(error);
      s.core_.wait(me);
      std::exception_ptr first = s.core_.take_error();
      std::rethrow_exception(first != nullptr ? std::move(first) : std::move(error));
    };
    auto&& result = guarded();
    wait_in_scope(s.core_);
    return static_cast<result_type>(std::forward<decltype(result)>(result));
  }

  template<class F, class... Args>
  static constexpr bool returns_task() {
    if constexpr (fits<F, Args...>)
      return is_task<call_result_t<F, Args...>>::value;
    else
      return false;
  }
  template<class F, class... Args>
  using result_t = brought_t<F&, scope&, Args...>;

  template<class F, class... Args>
  static rubato::task<result_t<F, Args...>> run_async(pool* where, F f, Args... args) {
    coroutine_task& self = *this_trampoline().running;
    scope s(core_for_children(where, self), self);
    scope_core& core = s.core_;
    stop_scope& around = self.scope();
    scope_stopper const stopper(core, around);
    result_slot<result_t<F, Args...>> result;
    std::exception_ptr error;
    self.stops_with(core.stop());
    try {
      auto body = call(*current, f, s, std::move(args)...);
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

template<class F>
auto with_scope_fn::on(pool* p, F&& f) -> brought_if_fits_t<F&, scope&> {
  static_assert(fits<F&, scope&>, "rubato: with_scope(f): f must be callable as f(scope&)");
  if constexpr (fits<F&, scope&>) {
    using result = brought_t<F&, scope&>;
    return static_cast<result>(
        on_pool(p, [&](thread_context& me) -> result { return scope_access::run(me, f); }));
  } else {
    return {};
  }
}

template<class F, class... Args>
auto with_async_scope_fn::on(pool* where, F&& f, Args&&... args) {
  constexpr bool kept = can_be_kept<F, Args...>;
  constexpr bool called = scope_access::returns_task<std::decay_t<F>&, scope&, std::decay_t<Args>...>();
  static_assert(kept, "rubato: with_async_scope(f, args...): f and the arguments are copied unless they are "
                      "passed as rvalues: std::move what cannot be copied");
  if constexpr (kept)
    static_assert(
        called,
        "rubato: with_async_scope(f, args...): f must be callable as f(scope&, args...) and "
        "return a task, as [](rubato::scope& s) -> rubato::task<void> { ... } does; with_scope() takes what "
        "does not");
  if constexpr (kept && called)
    return scope_access::run_async<std::decay_t<F>, std::decay_t<Args>...>(where, std::forward<F>(f),
                                                                           std::forward<Args>(args)...);
  else
    return refused();
}

} // namespace rubato::detail
