// A coroutine without a future. Until it begins it is an entry of a queue with no more than its frame or the
// callable that makes it; the thread that begins it has the state. docs/design/coroutines.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/coro/task_impl.hpp"
#include "rubato/priority.hpp"

#include <coroutine>
#include <exception>
#include <utility>

namespace rubato::detail {

/// What an enqueued coroutine uses until it ends, beside its frame and its state.
class coroutine_source {
public:
  /// Makes the outermost coroutine, which begins. Throws what the callable throws.
  [[nodiscard]] virtual std::coroutine_handle<> begin(thread_context& runner) = 0;
  /// The coroutine has finished; or it was destroyed, or has not begun. Returns its exception, if it has
  /// failed, and destroys the source.
  [[nodiscard]] virtual std::exception_ptr end(bool finished) noexcept = 0;

protected:
  ~coroutine_source() = default;
};

/// Begins it on the calling thread. Without memory for a state the source ends, and on_unhandled() gets the
/// std::bad_alloc.
RUBATO_API void begin_enqueued(coroutine_source& s, priority p, thread_context& runner) noexcept;

/// Of a callable, which lives until the coroutine ends.
template<class F>
class enqueued_coroutine final : public task, coroutine_source {
  priority level_;
  task_source<F> source_;
  result_slot<typename flattened<call_result_t<F>>::type> result_;

  static void run(task& base, thread_context* runner) noexcept {
    auto& self = static_cast<enqueued_coroutine&>(base);
    if (runner == nullptr)
      free_in_slab(&self);
    else
      begin_enqueued(self, self.level_, *runner);
  }
  [[nodiscard]] std::coroutine_handle<> begin(thread_context& runner) override {
    return detail::begin_outermost(source_, result_, runner);
  }
  [[nodiscard]] std::exception_ptr end(bool finished) noexcept override {
    // take_failure() ends the program if there is neither a value nor an exception.
    std::exception_ptr e =
        finished && result_.holds() != outcome::value ? result_.take_failure() : result_.take_error();
    free_in_slab(this);
    return e;
  }

public:
  template<class... Args>
  explicit enqueued_coroutine(priority p, Args&&... args)
      : task(&run)
      , level_(p)
      , source_(std::forward<Args>(args)...) {}
};

/// Of a task without a result, the most frequent one: its state has the place of the result.
template<>
class enqueued_coroutine<rubato::task<>> final : public task {
  priority level_;
  rubato::task<> made_;

  RUBATO_API static void run(task& base, thread_context* runner) noexcept;

public:
  enqueued_coroutine(priority p, rubato::task<>&& t) noexcept
      : task(&run)
      , level_(p)
      , made_(std::move(t)) {}
};
static_assert(sizeof(enqueued_coroutine<rubato::task<>>) == 32, "the smallest block of a slab");

} // namespace rubato::detail
