// A coroutine that runs in the thread that resumes it, for the schedulers that Rubato is compared with.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace savegame::baseline {

namespace detail {

struct promise_base {
  std::coroutine_handle<> caller; ///< null: it runs on the stack of the caller, which looks itself
  std::exception_ptr error;

  struct at_end {
    bool await_ready() noexcept { return false; }
    template<class P>
    void await_suspend(std::coroutine_handle<P> h) noexcept {
      if (h.promise().caller) h.promise().caller.resume();
    }
    void await_resume() noexcept {}
  };
  std::suspend_always initial_suspend() noexcept { return {}; }
  at_end final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { error = std::current_exception(); }
};

template<class T>
struct promise_of : promise_base {
  std::optional<T> value;
  void return_value(T v) { value.emplace(std::move(v)); }
  T result() { return std::move(*value); }
};
template<>
struct promise_of<void> : promise_base {
  void return_void() noexcept {}
  void result() noexcept {}
};

} // namespace detail

/// Begins when it is awaited.
template<class T>
class [[nodiscard]] task {
public:
  struct promise_type : detail::promise_of<T> {
    task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
  };

private:
  std::coroutine_handle<promise_type> frame_;
  explicit task(std::coroutine_handle<promise_type> h) noexcept
      : frame_(h) {}

public:
  task(task&& other) noexcept
      : frame_(std::exchange(other.frame_, nullptr)) {}
  task& operator=(task&&) = delete;
  ~task() {
    if (frame_) frame_.destroy();
  }

  bool await_ready() noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> caller) {
    frame_.resume(); // no symmetric transfer: without optimisation the stack would grow with each await
    if (frame_.done()) return false;
    frame_.promise().caller = caller; // the same thread will resume it
    return true;
  }
  T await_resume() {
    if (frame_.promise().error) std::rethrow_exception(frame_.promise().error);
    return frame_.promise().result();
  }
};

/// A coroutine that nothing awaits. It must not throw.
struct detached {
  struct promise_type {
    detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

} // namespace savegame::baseline
