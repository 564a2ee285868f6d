// What co_await does in a coroutine of ours, by what is awaited. A part of task.hpp.
// docs/design/coroutines.md
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/coroutine.hpp"
#include "rubato/future.hpp"

#include <atomic>
#include <concepts>
#include <coroutine>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// co_await of a future or a shared future.
template<class T, class Future>
class future_awaiter final : suspension {
  struct waiter final : future_waiter {
    future_awaiter& self;
    explicit waiter(future_awaiter& a) noexcept
        : future_waiter(&fire)
        , self(a) {}
    static void fire(future_waiter& base, completions& /*more*/) noexcept {
      static_cast<waiter&>(base).self.end_wait();
    }
  };

  Future future_;
  waiter waiter_{*this};

  [[nodiscard]] future_state& state() noexcept { return *future_access::state(future_).get(); }
  [[nodiscard]] bool insert() noexcept override { return state().waiters.add(waiter_); }
  [[nodiscard]] bool remove() noexcept override { return state().waiters.remove(waiter_); }

public:
  explicit future_awaiter(Future f)
      : future_(std::move(f)) {
    if (!future_.valid()) throw_no_state("rubato: co_await of a future that has no state");
  }
  future_awaiter(future_awaiter const&) = delete;
  future_awaiter& operator=(future_awaiter const&) = delete;
  ~future_awaiter() { retire(); }

  [[nodiscard]] bool await_ready() noexcept { return state().done(); }
  template<std::derived_from<own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    return suspend(h);
  }
  auto await_resume() -> decltype(future_.get()) {
    if (retire()) throw cancelled();
    return future_.get();
  }
};

/// A coroutine that awaits something foreign and then brings the activity back to its pool.
struct hop {
  struct promise_type : coroutine_frame {
    struct ender {
      [[nodiscard]] static bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> h) const noexcept { h.promise().end(); }
      void await_resume() const noexcept {}
    };

    activity* back = nullptr;
    std::atomic<bool> first_over{
        false}; // the hop has ended, or the activity has been suspended; then the other

    hop get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    [[nodiscard]] static std::suspend_always initial_suspend() noexcept { return {}; }
    [[nodiscard]] static ender final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept {} // there is none

    /// acq_rel: whoever comes second sees what the first has done.
    [[nodiscard]] bool is_second() noexcept { return first_over.exchange(true, std::memory_order_acq_rel); }
    void end() noexcept {
      activity& a = *back;
      if (is_second()) offer(a);
    }
  };
  std::coroutine_handle<promise_type> frame;
};

/// co_await of anything else: whoever resumes it, the coroutine goes on on its own pool.
template<class A>
class foreign_awaiter {
  using inner_type = decltype(awaiter_of(std::declval<A>()));
  using result_type = decltype(std::declval<inner_type>().await_resume());

  A&& awaitable_;
  result_slot<result_type> result_;
  std::coroutine_handle<hop::promise_type> hop_;

  static hop run(foreign_awaiter& self) {
    try {
      if constexpr (std::is_void_v<result_type>) {
        co_await static_cast<A&&>(self.awaitable_);
        self.result_.emplace();
      } else {
        decltype(auto) value = co_await static_cast<A&&>(self.awaitable_);
        self.result_.emplace(static_cast<decltype(value)&&>(value));
      }
    } catch (...) {
      self.result_.fail(std::current_exception());
    }
  }

public:
  explicit foreign_awaiter(A&& a) noexcept
      : awaitable_(static_cast<A&&>(a)) {}
  foreign_awaiter(foreign_awaiter const&) = delete;
  foreign_awaiter& operator=(foreign_awaiter const&) = delete;
  ~foreign_awaiter() {
    if (hop_ != nullptr) hop_.destroy();
  }

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) {
    hop_ = run(*this).frame;
    activity& a = *this_trampoline().running;
    auto const frame = hop_;
    frame.promise().back = &a;
    a.suspend_elsewhere(h);
    frame.resume();
    return !frame.promise().is_second();
  }
  result_type await_resume() { return static_cast<result_type>(result_.take()); }
};

/// An awaiter of our own where it is: g++ 12 copies what await_transform passes through as an rvalue.
template<class A>
struct awaiter_ref {
  A* awaiter;
  [[nodiscard]] bool await_ready() const { return awaiter->await_ready(); }
  template<class P>
  auto await_suspend(std::coroutine_handle<P> h) const {
    return awaiter->await_suspend(h);
  }
  decltype(auto) await_resume() const { return awaiter->await_resume(); }
};

template<class A>
auto make_awaiter(A&& a) {
  using type = std::remove_cvref_t<A>;
  if constexpr (is_task<type>::value)
    return task_awaiter<typename type::value_type>(a);
  else if constexpr (is_future<type>::value)
    return future_awaiter<typename type::value_type, type>(
        static_cast<type&&>(a)); // an lvalue is consumed as well
  else if constexpr (is_shared_future<type>::value)
    return future_awaiter<typename type::value_type, type>(a);
  else if constexpr (std::derived_from<type, awaited_in_place>)
    return a.awaiter();
  else if constexpr (std::derived_from<type, own_awaitable>)
    return awaiter_ref<std::remove_reference_t<A>>{std::addressof(a)};
  else
    return foreign_awaiter<A>(static_cast<A&&>(a));
}

/// Anything that can be awaited, as a task. What was passed outlives it.
template<class A>
struct awaiting {
  using result = decltype(make_awaiter(std::declval<A>()).await_resume());
  static rubato::task<result> make(A&& a) { co_return co_await static_cast<A&&>(a); }
};

} // namespace rubato::detail
