// Values that a coroutine makes one after the other, each when it is wanted.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/activity.hpp"
#include "rubato/detail/coroutine.hpp"
#include "rubato/detail/value_in_std.hpp"

#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

namespace rubato {

/// A coroutine that co_yields any number of values. It runs only while somebody awaits next(), as a part of
/// that coroutine: on its pool, and stopped with it; it may co_await whatever a task may.
///
/// A T is copied or moved from what was yielded; a T& refers to it. Movable; one next() at a time. Destroying
/// it destroys the coroutine where it is, and with it the generators in its frame, which takes stack for each
/// level; a pool that ends breaks off nested ones from the innermost outwards. A value costs no allocation,
/// and any number of them no stack.
template<class T>
class [[nodiscard("an async_generator begins only with next()")]] async_generator {
public:
  class promise_type;
  using value_type = T;
  /// T; std::monostate for void, std::reference_wrapper for a reference.
  using stored_type = detail::value_in_std<T>;

private:
  class awaiter;
  std::coroutine_handle<promise_type> frame_;
  explicit async_generator(std::coroutine_handle<promise_type> h) noexcept
      : frame_(h) {}

  void reset() noexcept {
    if (frame_ != nullptr) detail::tombstone::destroy_frame(std::exchange(frame_, nullptr));
  }

public:
  /// Empty: it can only be assigned to.
  async_generator() noexcept = default;
  async_generator(async_generator&& other) noexcept
      : frame_(std::exchange(other.frame_, nullptr)) {}
  async_generator& operator=(async_generator&& other) noexcept {
    if (this != &other) {
      reset();
      frame_ = std::exchange(other.frame_, nullptr);
    }
    return *this;
  }
  async_generator(async_generator const&) = delete;
  async_generator& operator=(async_generator const&) = delete;
  ~async_generator() { reset(); }

  /// Is there a coroutine? Not if it was destroyed with a pool that ended while next() was awaited.
  [[nodiscard]] bool valid() const noexcept {
    return frame_ != nullptr && !detail::tombstone::stands_for(frame_);
  }

  /// co_await next(): runs the coroutine until it yields, and returns the value; nullopt when it has ended.
  /// What it throws is thrown here, once, and then it has ended. Throws std::future_error(no_state) if it is
  /// empty, std::logic_error if another next() has not ended yet.
  auto next() {
    if (!valid()) detail::throw_no_state("rubato: next() of an empty async_generator");
    return awaiter(frame_);
  }
};

template<class T>
class async_generator<T>::promise_type final : public detail::own_promise {
  friend class awaiter;
  std::optional<stored_type> value_;
  std::exception_ptr error_;

  struct passes_control {
    std::coroutine_handle<> to;
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    void await_suspend(std::coroutine_handle<> /*yielded*/) const noexcept {
      detail::this_trampoline().next = to;
    }
    void await_resume() const noexcept {}
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
    awaited_by(nullptr);
    return {to};
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
    // Broken off while it is awaited it never goes on, wherever its owner is: so it goes with the frames
    // around.
    frame_.promise().owned_by(h);
    detail::this_trampoline().next = frame_;
  }
  [[nodiscard]] std::optional<stored_type> await_resume() const {
    promise_type& p = frame_.promise();
    if (p.error_ != nullptr) std::rethrow_exception(std::exchange(p.error_, nullptr));
    return std::exchange(p.value_, std::nullopt);
  }
};

} // namespace rubato
