// How a coroutine without a future begins and ends. docs/design/coroutines.md
#include "rubato/detail/coro/enqueued_coroutine.hpp"

#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/detail/future/detached.hpp"
#include "rubato/detail/trace/note.hpp"
#include "work/pool_thread.hpp"

#include <new>
#include <utility>

namespace rubato::detail {

namespace {

/// Its coroutine task. A thread keeps one for its next enqueued coroutine, and so one that is never suspended
/// costs no state.
class unnamed_coroutine final : public state_of<void, coroutine_task> {
  static constexpr std::uint32_t own_references = 2; // its own, and that of the report
  failure_report report_{*this};
  result_slot<void> result_;           ///< of a task
  coroutine_source* source_ = nullptr; ///< null: a task

  [[nodiscard]] std::coroutine_handle<> begin(thread_context& runner) noexcept override {
    try {
      if (source_ == nullptr) static_cast<void>(task_access::unbegun(rubato::task<>())); // throws
      return source_->begin(runner);
    } catch (...) {
      fail(std::current_exception());
      return nullptr;
    }
  }
  void end(bool finished) noexcept override {
    std::exception_ptr e =
        source_ != nullptr ? std::exchange(source_, nullptr)->end(finished) : result_.take_error();
    if (e != nullptr) fail(std::move(e));
  }

public:
  explicit unnamed_coroutine(pool_core& c) noexcept
      : state_of(own_references, nullptr) {
    set_home(&c);
    report_.watch(c);
  }
  [[nodiscard]] static unnamed_coroutine& take(thread_context& runner) {
    if (future_state* const spare = std::exchange(thread_of(runner).spare_coroutine, nullptr))
      return static_cast<unnamed_coroutine&>(*spare);
    return *make_in_slab<unnamed_coroutine>(*runner.core);
  }

  void begin_with(coroutine_source& s) noexcept { source_ = &s; }
  void begin_with(rubato::task<>& t) noexcept {
    auto const h = task_access::release(t);
    if (h == nullptr) return;
    h.promise().begins_outermost();
    h.promise().goes_to(result_);
    begin_at(h);
  }

  /// Runs the coroutine until it is suspended for the first time.
  void run_first(priority p, thread_context& runner) noexcept {
    queued.set_priority(p);
    begun_by.set(runner.index + 1);
    note<event_kind::became>(static_cast<task const*>(this));
    progress const now = run(runner);
    if (now == progress::suspended) return;
    if (now == progress::not_begun || !make_blank(own_references)) {
      finish(now);
      return;
    }
    end(true);
    future_state*& spare = thread_of(runner).spare_coroutine;
    if (has_failed() || spare != nullptr) // it ran inside another one, or one has run in a destructor
      complete();
    else
      spare = this;
  }
};

/// Throws std::bad_alloc, before the source is touched.
template<class Source>
void begin(Source& s, priority p, thread_context& runner) {
  unnamed_coroutine& state = unnamed_coroutine::take(runner);
  state.begin_with(s);
  state.run_first(p, runner);
}

} // namespace

void begin_enqueued(coroutine_source& s, priority p, thread_context& runner) noexcept {
  try {
    begin(s, p, runner);
  } catch (std::bad_alloc const&) {
    static_cast<void>(s.end(false));
    unhandled(runner);
  }
}

void enqueued_coroutine<rubato::task<>>::run(task& base, thread_context* runner) noexcept {
  auto& self = static_cast<enqueued_coroutine&>(base);
  rubato::task<> begun(std::move(self.made_));
  priority const level = self.level_;
  free_in_slab(&self);
  if (runner == nullptr) return;
  try {
    begin(begun, level, *runner);
  } catch (std::bad_alloc const&) {
    unhandled(*runner);
  }
}

} // namespace rubato::detail
