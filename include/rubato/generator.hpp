// Asynchronous generators: coroutines that produce one value per request.
//
//   #include <rubato/generator.hpp>
//   #include <rubato/spawn.hpp>
//
//   #include <cstdio>
//
//   rubato::async_generator<int> squares() {
//     for (int i = 1;; ++i) co_yield i * i;
//   }
//   rubato::task<int> third() {
//     rubato::async_generator<int> g = squares();
//     for (int i = 0; i != 2; ++i) co_await g.next();
//     co_return *co_await g.next();
//   }
//
//   int main() {
//     std::printf("%d\n", rubato::block_on(third())); // -> 9
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/base/value_in_std.hpp"
#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"

#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

namespace rubato {

/// A coroutine that co_yields any number of values. It runs only while another coroutine awaits next(), as a
/// part of that coroutine: on its pool, and with its stop token. It may co_await whatever a task may.
///
/// If T is an object type, each value is copied or moved from the yielded one; if T is a reference, it refers
/// to it. Movable. One thread at a time may use it, and one next() may be awaited at a time. A value costs no
/// allocation and no stack. The destructor destroys the suspended coroutine, and recursively the generators
/// in its frame; the end of a pool destroys nested generators from the innermost outwards.
template<class T>
class [[nodiscard("an async_generator begins only with next()")]] async_generator {
public:
  class promise_type;
  /// T.
  using value_type = T;
  /// T; std::monostate for void, std::reference_wrapper for a reference.
  using stored_type = detail::value_in_std<T>;

private:
  class awaiter;
  detail::frame_owner<promise_type> frame_;
  explicit async_generator(std::coroutine_handle<promise_type> h) noexcept
      : frame_(h) {}

public:
  /// Empty, as after a move: it can only be assigned to and destroyed.
  async_generator() noexcept = default;
  /// True if it holds a coroutine. False if the end of a pool has destroyed the coroutine during a next().
  [[nodiscard]] bool valid() const noexcept {
    return frame_.get() != nullptr && !detail::tombstone::stands_for(frame_.get());
  }

  /// co_await next(): runs the coroutine until its next co_yield, and yields that value, or nullopt when the
  /// coroutine has ended. If the coroutine throws, next() throws that exception once; later calls yield
  /// nullopt. Throws std::future_error(no_state) if the generator is empty, and std::logic_error if another
  /// next() is awaited.
  auto next() {
    if (!valid()) detail::throw_no_state("rubato: next() of an empty async_generator");
    return awaiter(frame_.get());
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
    // If the pool's end breaks this await off, the generator never resumes, wherever its owner is: so its
    // frame is destroyed with the awaiting frames.
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
