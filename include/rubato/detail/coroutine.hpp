// What all coroutines of ours have in common. docs/design/coroutines.md
#pragma once

#include "rubato/detail/activity.hpp"
#include "rubato/detail/result.hpp"
#include "rubato/detail/task.hpp"

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>

namespace rubato {

template<class T>
class task;
template<class T>
class future;
template<class T>
class shared_future;

namespace detail {

struct task_access;
template<class F>
class coroutine_job;
template<class T>
class task_awaiter;

/// Marks what a coroutine of ours may await as it is: it deals with the activity itself.
struct own_awaitable {};

/// Something with await_ready(), await_suspend() and await_resume(), or that becomes so.
template<class A>
decltype(auto) awaiter_of(A&& a) {
  if constexpr (requires { std::forward<A>(a).operator co_await(); })
    return std::forward<A>(a).operator co_await();
  else if constexpr (requires { operator co_await(std::forward<A>(a)); })
    return operator co_await(std::forward<A>(a));
  else
    return static_cast<A&&>(a);
}

/// Where control goes when a coroutine ends: to whoever awaited it.
struct final_awaiter {
  std::coroutine_handle<> continuation;
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> /*ended*/) const noexcept {
    trampoline& t = this_trampoline();
    t.next = continuation;
    t.finished = continuation == nullptr;
  }
  void await_resume() const noexcept {}
};

template<class A>
auto make_awaiter(A&& a);

/// Frames come from the slabs.
struct coroutine_frame {
  static void* operator new(std::size_t bytes) { return allocate(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept { deallocate(frame, bytes); }
};

/// The promise of a coroutine that runs within an activity.
class own_promise : public coroutine_frame {
public:
  std::coroutine_handle<> continuation; ///< null: the activity's outermost

  [[nodiscard]] static std::suspend_always initial_suspend() noexcept { return {}; }
  [[nodiscard]] final_awaiter final_suspend() const noexcept { return {continuation}; }

  template<class A>
  auto await_transform(A&& a) {
    return make_awaiter(std::forward<A>(a));
  }
};

template<class T>
class task_promise : public own_promise {
public:
  result_slot<T> result;
  void unhandled_exception() noexcept { result.fail(std::current_exception()); }
  template<class U>
    requires std::convertible_to<U&&, T>
  void return_value(U&& value) {
    result.emplace(std::forward<U>(value));
  }
};
template<class T>
class task_promise<T&> : public own_promise {
public:
  result_slot<T&> result;
  void unhandled_exception() noexcept { result.fail(std::current_exception()); }
  void return_value(T& value) noexcept { result.emplace(value); }
};
template<>
class task_promise<void> : public own_promise {
public:
  result_slot<void> result;
  void unhandled_exception() noexcept { result.fail(std::current_exception()); }
  void return_void() noexcept { result.emplace(); }
};

} // namespace detail

} // namespace rubato
