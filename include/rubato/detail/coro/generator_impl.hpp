// The coroutine behind an async_generator, and the awaitable of next(). A part of generator.hpp.
#pragma once

#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/generator.hpp"

#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

namespace rubato {

template<class T>
class async_generator<T>::promise_type final : public detail::own_promise {
  friend class awaiter;
  std::optional<stored_type> value_;
  std::exception_ptr error_;

  struct passes_control : std::suspend_always {
    std::coroutine_handle<> to;
    void await_suspend(std::coroutine_handle<> /*yielded*/) const noexcept {
      detail::this_trampoline().next = to;
    }
  };

public:
  async_generator get_return_object() noexcept {
    return async_generator(std::coroutine_handle<promise_type>::from_promise(*this));
  }
  template<class U = stored_type>
    requires std::convertible_to<U&&, stored_type>
  [[nodiscard]] passes_control yield_value(U&& value) {
    value_.emplace(std::forward<U>(value));
    std::coroutine_handle<> const to = continuation();
    not_awaited();
    return {{}, to};
  }
  void return_void() noexcept {}
  void unhandled_exception() noexcept { error_ = std::current_exception(); }
};

template<class T>
class [[nodiscard("next() goes on only when it is awaited: co_await it")]] async_generator<T>::awaiter final
    : public detail::own_awaitable {
  std::coroutine_handle<promise_type> frame_;

public:
  explicit awaiter(std::coroutine_handle<promise_type> h) noexcept
      : frame_(h) {}

  [[nodiscard]] bool await_ready() const {
    if (frame_.done()) return true;
    if (frame_.promise().continuation() != nullptr)
      throw std::logic_error("rubato: next() of an async_generator while another next() is awaited");
    return false;
  }
  template<std::derived_from<detail::own_promise> P>
  void await_suspend(std::coroutine_handle<P> h) const noexcept {
    // If the pool's end breaks this await off, the generator never resumes, wherever its owner is: so its
    // frame is destroyed with the awaiting frames.
    frame_.promise().owned_by(h);
    detail::this_trampoline().next = frame_;
  }
  [[nodiscard]] std::optional<stored_type> await_resume() const {
    promise_type& p = frame_.promise();
    if (p.error_ != nullptr) {
      // It stays: a generator that a stop has cut never looks like one that has come to its end.
      if (detail::is_cancelled(p.error_)) std::rethrow_exception(p.error_);
      std::rethrow_exception(std::exchange(p.error_, nullptr));
    }
    // Also if its move throws: a value that was moved from is delivered to no later call.
    struct clearing {
      std::optional<stored_type>& value;
      ~clearing() { value.reset(); }
    } const afterwards{p.value_};
    return std::move(p.value_);
  }
};

} // namespace rubato
