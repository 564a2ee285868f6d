// How a result reaches its waiters, and how work is queued. docs/design/futures.md
#include "rubato/detail/work/future_state.hpp"

#include "rubato/cancelled.hpp"
#include "rubato/detail/sched/pool_access.hpp"
#include "sched/core/pool_registry.hpp"
#include "sched/life/lifecycle.hpp"
#include "sched/run/search.hpp"
#include "sched/wait/await.hpp"
#include "work/hazard_guard.hpp"

#include <future>
#include <optional>
#include <stdexcept>
#include <string>

namespace rubato::detail {

void future_state::run_entry(task& base, thread_context* runner) noexcept {
  auto& s = static_cast<future_state&>(base);
  s.holds_capacity = false; // the capacity has been released
  queue_state::taken const t = s.queued.take();
  if (t.ready) {
    if (s.has_moved_from(runner)) [[unlikely]] {
      offer(s, made_ready_by::call);
    } else if (runner != nullptr && (!life_of(*runner->core).is_discarding() || s.has_begun())) {
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
  return has_begun() && !life_of(*home()).is_closed(); // a closed pool drops its queues, and this is not its
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
    if (!again) drop();
  }
  if (t.stale) release();
  return again;
}

bool future_state::drop_if_stale(pool_core& where) noexcept {
  if (!queued.drop_if_stale()) return false;
  if (std::exchange(holds_capacity, false)) release_capacity(where);
  release();
  return true;
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
  was_cut = !is_promised(); // that is broken by the program itself
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

// NOLINTBEGIN(clang-analyzer-core.*): work that is offered has a home
void offer(future_state& s, made_ready_by cause) noexcept {
  bool const was_claimed = s.queued.is_queued(); // its old entry is still there, or was at this moment
  if (was_claimed) s.hold();
  state_ref const held(was_claimed ? &s
                                   : nullptr); // let go after the guard: it may destroy objects of the user
  // From the offer on another thread may claim it: it may move or end, and so may its pool.
  pool_core& core = *s.home();
  std::uint16_t const seat = s.seat.get();
  outside_guard const here(core);
  auto const offered = s.queued.offer();
  if (offered.to_queue)
    queue_task(core, seat, offered.cls, s, cause);
  else if (offered.is_behind)
    queue_second_entry(s);
  else
    notify(core); // every thread may wait, and have seen only claimed work in the queue
}
// NOLINTEND(clang-analyzer-core.*)

void queue_near(task& t, pool_core* made_at) noexcept {
  if (current->core != nullptr) {
    queue(*current->core, &t);
    return;
  }
  std::optional<hazard_guard> there;
  if (guard_if_there(made_at, there)) {
    queue(*made_at, &t);
    return;
  }
  try {
    queue(*some_core(), &t);
  } catch (std::exception const&) { // no threads, or no memory
    t.exec(t, nullptr);
  }
}

namespace {

struct ending_task final : task {
  future_state& state;
  void (*end)(future_state&) noexcept;
  ending_task(future_state& s, void (*f)(future_state&) noexcept) noexcept
      : task(&run)
      , state(s)
      , end(f) {}
  static void run(task& base, thread_context* /*runner: null, if the pool discards it*/) noexcept {
    auto& self = static_cast<ending_task&>(base);
    future_state& s = self.state;
    auto const end_it = self.end;
    free_in_slab(&self);
    end_it(s);
  }
};

} // namespace

void end_later(future_state& s, void (*end)(future_state&) noexcept) noexcept {
  try {
    queue_near(*make_in_slab<ending_task>(s, end), s.home());
  } catch (std::bad_alloc const&) {
    end(s);
  }
}

bool was_lost_in_fork(future_state const& s) noexcept {
  pool_core const* const home = s.home();
  return !s.done() && home != nullptr && home != current->core && was_left_behind(home);
}

bool may_have_begun(task const& k) noexcept { return k.exec == &future_state::run_entry; }

priority class_of(task const& k) noexcept {
  return may_have_begun(k) ? static_cast<future_state const&>(k).queued.cls() : priority::normal;
}

task* drop_unless_begun(task& k) noexcept {
  if (may_have_begun(k)) return static_cast<future_state&>(k).drop_unless_begun() ? &k : nullptr;
  k.exec(k, nullptr);
  return nullptr;
}

bool drop_stale_task(task& k, pool_core& where) noexcept {
  return may_have_begun(k) && static_cast<future_state&>(k).drop_if_stale(where);
}

void spawn_state(pool_core& c, future_state& s) noexcept {
  s.set_home(&c);
  std::uint16_t const seat = s.seat.get(); // read before: once offered, another thread may run it
  queue_task(c, seat, s.queued.offer_first(), s, made_ready_by::call);
}

std::uint16_t checked_seat(pool_core& c, unsigned seat) {
  if (seat >= size_of(c))
    throw std::out_of_range("rubato: spawn_on(" + std::to_string(seat) + "): the pool has " +
                            std::to_string(size_of(c)) + " seats");
  return static_cast<std::uint16_t>(seat);
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
