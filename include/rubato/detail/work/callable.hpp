// Rules for calling callables: whether a callable fits where it was passed, how it is kept until the call,
// what arguments it gets, and what its result is: for a returned future or task, the result of that one.
//
// A static_assert explains in one sentence why a callable does not fit. Nothing is deduced from a refused
// callable: the called function causes no further errors, and returns a `refused`.
#pragma once

#include "rubato/detail/base/refused.hpp"
#include "rubato/detail/base/result.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <concepts>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace rubato {

template<class T>
class future;
template<class T>
class shared_future;
template<class T>
class task;

namespace detail {

/// True if F can be called with these as the library calls it: with a stop token before them, or without.
template<class F, class... Args>
inline constexpr bool fits =
    std::is_invocable_v<F, std::stop_token, Args...> || std::is_invocable_v<F, Args...>;

/// True if an argument passed as F&& can be kept: moved or copied to the place of the call.
template<class... Fs>
inline constexpr bool can_be_kept = (std::is_constructible_v<std::decay_t<Fs>, Fs> && ...);

/// True if F can be called with exactly these and its result converts to To.
template<class F, class To, class... Args>
concept gives =
    std::is_invocable_v<F, Args...> && std::is_constructible_v<To, std::invoke_result_t<F, Args...>>;

/// A callable gets a stop token as its first argument if, and only if, it accepts one there.
template<class F, class... Args>
inline constexpr bool wants_token = std::is_invocable_v<F, std::stop_token, Args...>;

/// The type as which a callable passed as F&& is called, once: an lvalue if it can be called so, else an
/// rvalue.
template<class F, class... Args>
using called_as = std::conditional_t<std::is_invocable_v<F&, Args...> || wants_token<F&, Args...>, F&, F&&>;

template<class F, class... Args>
[[gnu::always_inline]] inline decltype(auto) call(thread_context& me, F&& f, Args&&... args) {
  if constexpr (wants_token<F, Args...>) {
    return invoke_value(std::forward<F>(f), current_token(me), std::forward<Args>(args)...);
  } else {
    return invoke_value(std::forward<F>(f), std::forward<Args>(args)...);
  }
}

template<class F, class... Args>
struct call_result {
  using type = std::invoke_result_t<F, Args...>;
};
template<class F, class... Args>
  requires wants_token<F, Args...>
struct call_result<F, Args...> {
  using type = std::invoke_result_t<F, std::stop_token, Args...>;
};
template<class F, class... Args>
using call_result_t = typename call_result<F, Args...>::type;

/// A borrowed callable. A small, trivially copyable temporary is copied: then its captures need not be in
/// memory, and an unstolen fork keeps them in registers.
template<class F>
[[nodiscard]] consteval bool is_held_by_value() {
  if constexpr (std::is_reference_v<F>)
    return false;
  else
    return std::is_trivially_copyable_v<F> && std::is_copy_constructible_v<F> &&
           sizeof(F) <= 2 * sizeof(void*);
}

template<class F, bool = is_held_by_value<F>()>
struct held {
  F f;
  [[gnu::always_inline]] explicit held(F& from) noexcept
      : f(from) {}
  [[gnu::always_inline]] F& get() noexcept { return f; }
};
template<class F>
struct held<F, false> {
  std::remove_reference_t<F>* f;
  [[gnu::always_inline]] explicit held(std::remove_reference_t<F>& from) noexcept
      : f(std::addressof(from)) {}
  [[gnu::always_inline]] std::remove_reference_t<F>& get() noexcept { return *f; }
};

/// Calls `f(thread_context&)` on the calling thread as a thread of that pool, and returns its result. Null:
/// of the current pool, else of the global one.
template<class F>
auto on_pool(pool* p, F&& f) -> value_of<std::invoke_result_t<F&, thread_context&>> {
  if (p == nullptr && current->core != nullptr) return invoke_value(f, *current);
  struct frame {
    F& f;
    result_slot<std::invoke_result_t<F&, thread_context&>> result;
  } state{f, {}};
  run_as_member(
      p,
      [](void* arg, thread_context& me) {
        auto& s = *static_cast<frame*>(arg);
        s.result.fill([&]() -> std::invoke_result_t<F&, thread_context&> { return invoke_any(s.f, me); });
      },
      &state);
  return state.result.take();
}

template<template<class> class Of, class A>
struct is_one : std::false_type {};
template<template<class> class Of, class T>
struct is_one<Of, Of<T>> : std::true_type {};
template<class A>
using is_future = is_one<future, A>;
template<class A>
using is_shared_future = is_one<shared_future, A>;
template<class A>
using is_task = is_one<rubato::task, A>;

/// True for an argument that is a task with a name, which cannot be copied.
template<class A>
inline constexpr bool is_named_task = std::is_lvalue_reference_v<A> && is_task<std::remove_cvref_t<A>>::value;

template<class R>
struct flattened {
  using type = R;
  static constexpr bool is_future = false, is_task = false;
};
template<class T>
struct flattened<future<T>> {
  using type = T;
  static constexpr bool is_future = true, is_task = false;
};
template<class T>
struct flattened<rubato::task<T>> {
  using type = T;
  static constexpr bool is_future = false, is_task = true;
};

/// Marks an awaitable that a coroutine of Rubato awaits as it is: it handles the coroutine task itself.
struct own_awaitable {};

/// Marks a type that becomes such an awaitable, by awaiter(), in the frame of the awaiting coroutine.
struct awaited_in_place {};

/// True if a queued callable may return an R; otherwise an assertion fails with a message: a dropped
/// awaitable has done nothing.
template<class R>
[[nodiscard]] consteval bool can_be_returned() {
  constexpr bool lazy = std::is_base_of_v<own_awaitable, R> || std::is_base_of_v<awaited_in_place, R>;
  static_assert(!lazy,
                "rubato: the callable returns an awaitable that nothing awaits: write it as a coroutine "
                "and co_await it, or return a task");
  return !lazy;
}

template<class F, class... Args>
using brought_t = typename flattened<call_result_t<F, Args...>>::type;

/// The same for the declaration of a function whose body refuses a callable that does not fit.
template<class F, class... Args>
struct brought_if_fits {
  using type = refused;
};
template<class F, class... Args>
  requires fits<F, Args...>
struct brought_if_fits<F, Args...> {
  using type = brought_t<F, Args...>;
};
template<class F, class... Args>
using brought_if_fits_t = typename brought_if_fits<F, Args...>::type;

/// Runs a task on the calling thread's own pool, and waits. Defined in task_impl.hpp, which task.hpp
/// includes, as every user of a task does.
template<class T>
T run_task(thread_context& me, rubato::task<T>&& t);
/// Waits for the result, even if a stop is requested. Defined in future_impl.hpp.
template<class T>
T get_to_end(future<T> f);

/// Calls f and waits for the future or task that it may return; f and its arguments live until that ends.
template<class F, class... Args>
[[gnu::always_inline]] inline decltype(auto) call_and_wait(thread_context& me, F&& f, Args&&... args) {
  using flat = flattened<call_result_t<F, Args...>>;
  if constexpr (flat::is_task)
    return invoke_value([&]() -> typename flat::type {
      return run_task(me, call(me, std::forward<F>(f), std::forward<Args>(args)...));
    });
  else if constexpr (flat::is_future)
    return invoke_value([&]() -> typename flat::type {
      return get_to_end(call(me, std::forward<F>(f), std::forward<Args>(args)...));
    });
  else
    return call(me, std::forward<F>(f), std::forward<Args>(args)...);
}

/// True if a pool is among the arguments of a function object, but not the first, or is passed by its
/// address.
template<class First, class... Rest>
inline constexpr bool has_misplaced_pool =
    std::is_same_v<std::remove_cv_t<std::remove_pointer_t<std::remove_cvref_t<First>>>, pool> ||
    (std::is_base_of_v<pool, std::remove_cvref_t<Rest>> || ...);

/// The two forms of a function object: f(args...) on the current pool, and f(pool, args...). Both call
/// Function::on(), with null for the current pool.
template<class Function>
struct pool_forms { // NOLINT(bugprone-crtp-constructor-accessibility): its heirs are aggregates
  template<class First, class... Rest>
  decltype(auto) operator()(First&& first, Rest&&... rest) const {
    if constexpr (std::derived_from<std::remove_cvref_t<First>, pool>) {
      return Function::on(&first, std::forward<Rest>(rest)...);
    } else if constexpr (has_misplaced_pool<First, Rest...>) {
      static_assert(!has_misplaced_pool<First, Rest...>,
                    "rubato: a pool is the first argument of a function, by reference: f(pool, ...)");
      return refused();
    } else {
      return Function::on(nullptr, std::forward<First>(first), std::forward<Rest>(rest)...);
    }
  }
};

} // namespace detail

} // namespace rubato
