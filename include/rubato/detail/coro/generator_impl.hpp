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
class async_generator<T>::promise_type final : public detail::own_promise, public detail::owned_frame {
  friend class awaiter;
  std::optional<stored_type>* value_ = nullptr; ///< where the awaited next() wants it
  std::exception_ptr error_;

  /// To the coroutine that awaits next().
  struct passes_control : std::suspend_always {
    void* to;
    void await_suspend(std::coroutine_handle<> /*generator*/) const noexcept {
      detail::own_trampoline.next = to;
    }
  };

public:
  async_generator get_return_object() noexcept {
    return async_generator(std::coroutine_handle<promise_type>::from_promise(*this));
  }
  template<class U = stored_type>
    requires std::convertible_to<U&&, stored_type>
  [[nodiscard]] passes_control yield_value(U&& value) {
    value_->emplace(std::forward<U>(value));
    void* const to = awaiting();
    not_awaited();
    return {{}, to};
  }
  [[nodiscard]] passes_control final_suspend() noexcept { return {{}, awaiting()}; }
  void return_void() noexcept {}
  void unhandled_exception() noexcept { error_ = std::current_exception(); }
};

template<class T>
class [[nodiscard("next() goes on only when it is awaited: co_await it")]] async_generator<T>::awaiter final
    : public detail::own_awaitable {
  std::coroutine_handle<promise_type> frame_;
  std::optional<stored_type> value_;

public:
  explicit awaiter(std::coroutine_handle<promise_type> h) noexcept
      : frame_(h) {}

  [[nodiscard]] bool await_ready() const {
    if (frame_.done()) return true;
    promise_type const& p = frame_.promise();
    if (p.has_begun() && p.awaiting() != nullptr)
      throw std::logic_error("rubato: next() of an async_generator while another next() is awaited");
    return false;
  }
  template<std::derived_from<detail::own_promise> P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    // If the pool's end breaks this await off, the generator never resumes, wherever its owner is: so its
    // frame is destroyed with the awaiting frames.
    frame_.promise().awaited_by(h);
    frame_.promise().value_ = &value_;
    return !detail::call_nested(frame_.address(), h.address());
  }
  [[nodiscard]] std::optional<stored_type> await_resume() {
    promise_type& p = frame_.promise();
    if (p.error_ != nullptr) {
      // It stays: a generator that a stop has cut never looks like one that has come to its end.
      if (detail::is_cancelled(p.error_)) std::rethrow_exception(p.error_);
      std::rethrow_exception(std::exchange(p.error_, nullptr));
    }
    return std::move(value_);
  }
};

} // namespace rubato
