// How a result reaches its waiters, and how work is queued. docs/design/futures.md
#include "rubato/detail/work/future_state.hpp"

#include "rubato/cancelled.hpp"
#include "rubato/detail/work/pool_port.hpp"

#include <future>
#include <optional>
#include <stdexcept>
#include <string>

namespace rubato::detail {

stop_scope* scope_of_state(void* token) noexcept {
  auto const word = reinterpret_cast<std::uintptr_t>(token);
  return &reinterpret_cast<future_state*>(word & ~state_token_bit)->current_scope();
}

void future_state::run_entry(task& base, thread_context* runner) noexcept {
  auto& s = static_cast<future_state&>(base);
  s.holds_capacity = false; // the capacity has been released
  queue_state::taken const t = s.queued.take();
  if (t.ready) {
    if (s.has_moved_from(runner)) [[unlikely]] {
      offer(s, made_ready_by::call);
    } else if (runner != nullptr && (!is_discarding(*runner->core) || s.has_begun())) {
      s.begun_by.set(runner->index + 1);
      s.resume(*runner);
    } else {
      s.drop();
    }
  }
  if (t.stale) s.release();
}

bool future_state::has_moved_from(thread_context const* popper) const noexcept {
  if (popper != nullptr) return popper->core != home();
  return has_begun() && !is_closed(*home()); // a pool that drops its queues is closed: so it is not this one
}

bool future_state::begins_after_caller() noexcept {
  stop_scope const* const mine = scope_in_force();
  if (mine == nullptr) return false;
  hold();
  for (state_ref at(this); at && at->is_work();) { // a when_any() may not need its input
    std::size_t first = 0;
    state_ref input(at->pending_input(first));
    if (input && mine->is_within(input->stop)) return true;
    at = std::move(input);
  }
  return false;
}

bool future_state::drop_unless_begun() noexcept {
  holds_capacity = false; // the capacity has been released
  queue_state::taken const t = queued.take();
  bool again = false;
  if (t.ready) {
    again = has_begun() && queued.offer().to_queue;
    if (again && t.behind) queued.leave_behind();
    if (!again) drop();
  }
  if (t.stale) release();
  return again;
}

void future_state::tell(future_state& s, completions& more) noexcept {
  for (completion::waiter* w = s.waiters.close(); w != nullptr;) {
    auto& now = static_cast<future_waiter&>(*w);
    w = w->next; // read before: the waiter is gone afterwards
    now.fire(now, more);
  }
}

std::exception_ptr future_state::take_error() noexcept {
  if (!has_failed()) return nullptr;
  auto* const stored = static_cast<std::exception_ptr*>(result());
  std::exception_ptr e = std::move(*stored);
  std::destroy_at(stored);
  holds = outcome::none;
  return e;
}

void future_state::complete() noexcept {
  completions more;
  for (future_state* s = this; s != nullptr; s = more.pop()) {
    s->stop.leave_parent();            // a waiter that is told next may end the scope around it
    if (s->is_child) s->note_result(); // before a consumer may move the result out
    tell(*s, more);
    s->release();
  }
}

void future_state::give_up() noexcept {
  was_cut = true;
  fail(broken_promise());
  completions more;
  tell(*this, more);
  while (future_state* const s = more.pop()) s->complete();
}

void future_state::drop() noexcept {
  was_cut = !is_promised(); // a promise is broken by the program itself
  fail(is_child ? cancelled_error() : broken_promise());
  complete();
}

void future_state::resume(thread_context& /*runner*/) noexcept {} // a promise's state is never queued

void cancellation::add(future_state& s) noexcept {
  if (!s.asked.try_raise()) return; // the first caller asks it
  if (future_state** const next = s.next_to_ask()) {
    s.hold();
    *next = std::exchange(first_, &s);
  } else {
    s.stop.request_stop();
  }
}
future_state* cancellation::pop() noexcept {
  future_state* const s = first_;
  if (s != nullptr) first_ = *s->next_to_ask();
  return s;
}

void future_state::cancel() noexcept {
  hold(); // a callback may drop the last future
  state_ref const held_here(this);
  cancellation all;
  all.add(*this);
  while (future_state* const s = all.pop()) {
    state_ref const held(s);
    s->stop.request_stop();
    s->cancel_inputs(all);
  }
}

bool may_have_begun(task const& k) noexcept { return k.is_second || k.exec == &future_state::run_entry; }

priority priority_of(task const& k) noexcept {
  if (!may_have_begun(k)) return priority::normal;
  return (k.is_second ? static_cast<second_entry const&>(k).of : static_cast<future_state const&>(k))
      .queued.level();
}

task* drop_unless_begun(task& k) noexcept {
  if (k.is_second && static_cast<second_entry&>(k).of.queued.is_ready()) return &k; // it tests that itself
  if (!k.is_second && may_have_begun(k))
    return static_cast<future_state&>(k).drop_unless_begun() ? &k : nullptr;
  k.exec(k, nullptr);
  return nullptr;
}

void throw_no_state(char const* what) {
  struct no_state : std::future_error {
    char const* said;
    explicit no_state(char const* w)
        : std::future_error(std::future_errc::no_state)
        , said(w) {}
    [[nodiscard]] char const* what() const noexcept override { return said; }
  };
  throw no_state(what);
}

std::exception_ptr broken_promise() noexcept {
  try {
    return std::make_exception_ptr(std::future_error(std::future_errc::broken_promise));
  } catch (...) { // no memory for its text: then that is why
    return std::current_exception();
  }
}

bool is_cancelled(std::exception_ptr const& e) noexcept {
  try {
    std::rethrow_exception(e);
  } catch (cancelled const&) {
    return true;
  } catch (...) {
    return false;
  }
}

std::exception_ptr cancelled_error() noexcept { return std::make_exception_ptr(cancelled()); }

} // namespace rubato::detail
