// How a routine is posted, run and let go. docs/design/routines.md
//
// Rules: (1) the thread that moves a routine from waiting to busy pushes it; (2) before the push that
// thread disarms the timer and leaves the pool's list, so it has held the shard's and the stripe's lock after
// the firer or the pool's end could last have found the routine there; (3) the push is its last touch; (4)
// what a callback asks for itself is noted in its run, on the worker's stack, and done after the callback.
#include "rubato/routine.hpp"

#include "os/die.hpp"
#include "rubato/detail/base/brief_wait.hpp"
#include "rubato/detail/sched/wait/arrival.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "sched/core/life_state.hpp"
#include "sched/core/pool_registry.hpp"
#include "sched/core/quiescence.hpp"
#include "work/hazard_guard.hpp"
#include "work/waiting_routines.hpp"

#include <optional>
#include <utility>

namespace rubato {

namespace {

using namespace detail;

/// One run of a routine, on its worker's stack.
struct routine_run {
  routine const* of;     ///< null: it was destroyed in its callback
  pool_core* post_to;    ///< null: not posted
  routine_callback next; ///< empty: it stays
  routine_run* outer;
};

// A callback may wait, and its thread then drive a pool without workers.
[[gnu::tls_model("initial-exec")]] thread_local constinit routine_run* innermost = nullptr;

/// Null: the calling thread is not in the callback of that routine.
routine_run* run_of(routine const& r) noexcept {
  routine_run* here = innermost;
  while (here != nullptr && here->of != &r) here = here->outer;
  return here;
}

[[noreturn]] void die_posted_twice() noexcept {
  os::die("post() of a routine that is posted already; wake() lets it run once more");
}

} // namespace

void routine::run(task& base, thread_context* runner) noexcept {
  auto& self = static_cast<routine&>(base);
  if (runner == nullptr) {
    self.state_.finish();
    return;
  }
  self.state_.start();
  routine_run here{.of = &self, .post_to = nullptr, .next = {}, .outer = innermost};
  innermost = &here;
  try {
    self.callback_(self);
  } catch (...) {
    unhandled(*runner);
  }
  innermost = here.outer;
  if (here.of == nullptr) return;
  if (here.next) self.callback_ = std::move(here.next);
  if (here.post_to != nullptr) {
    // post() has seen a pool that was not closed, perhaps another one than this.
    arrival const in(*here.post_to, arrival::at_once(), arriving::begun);
    self.core_ = here.post_to;
    if (!in.is_refused() && self.place()) return;
  }
  self.state_.finish();
}

void routine::replace_callback(routine_callback f) noexcept {
  if (routine_run* const here = run_of(*this))
    here->next = std::move(f);
  else
    callback_ = std::move(f);
}

void routine::post(pool& p) {
  pool_core& core = *core_of(p);
  arrival const in(core, arriving::unlimited);
  if (routine_run* const here = run_of(*this)) {
    if (std::exchange(here->post_to, &core) != nullptr) die_posted_twice();
    return;
  }
  if (!state_.begin_post()) die_posted_twice();
  core_ = &core;
  if (!has_deadline_) {
    queue(core, this);
    return;
  }
  if (place()) return;
  state_.finish();
  throw cancelled();
}

/// For the thread that has it. False: it would wait in a pool where nothing waits any more.
bool routine::place() noexcept {
  pool_core& core = *core_;
  bool const has_deadline = std::exchange(has_deadline_, false);
  if (!has_deadline || (next_due_ != never && next_due_ <= std::chrono::steady_clock::now())) {
    state_.queue(has_deadline);
    queue(core, this);
    return true;
  }
  due = next_due_;
  state_.clear_expired();
  if (due != never && life_of(core).is_ending()) due = never; // no wait for time begins any more
  waiting_routines_of(core).add(*this);
  // seq_cst, here and in is_ending(): pair with request_shutdown() and close_pool(), because this thread
  // joins the list before it asks, and they write before they look at the list.
  if (life_of(core).is_discarding() || life_of(core).stays_closed()) {
    waiting_routines_of(core).remove(*this);
    left_waiting_routines(core, this);
    has_deadline_ = true; // the post was refused: it has used up none
    return false;
  }
  if (due != never) {
    quiescence_of(core).armed();
    arm(*this);
    // The pool's end may have passed the list already, or find the routine there.
    if (life_of(core).is_ending()) static_cast<void>(state_.raise(routine_flag::woken));
  }
  if (!state_.wait()) go_on();
  return true;
}

/// For the thread that has moved it from waiting to busy.
void routine::leave_queued(made_ready_by cause) noexcept {
  pool_core& core = *core_;
  std::optional<hazard_guard> here;
  if (&core != current->core) here.emplace(core); // alive as long as the routine is in its list
  bool const timed = due != never;
  if (timed && cause != made_ready_by::event) static_cast<void>(disarm(*this)); // else it has fired
  waiting_routines_of(core).remove(*this);
  if (cause == made_ready_by::event)
    queue_task(core, future_state::any_seat, priority::normal, *this, made_ready_by::event);
  else
    queue(core, this);
  if (timed) quiescence_of(core).disarmed();
  left_waiting_routines(core, this);
}

void routine::go_on() noexcept { leave_queued(made_ready_by::task); }

bool routine::claim() noexcept {
  quiescence_of(*core_).fired();
  return state_.raise(routine_flag::expired);
}

void routine::fire() noexcept { leave_queued(made_ready_by::event); }

bool routine::interrupt() noexcept { return due != never && state_.raise(routine_flag::woken); }

bool routine::withdraw() noexcept { return state_.take(); }

void routine::end_wait() noexcept {
  pool_core& core = *core_;
  if (due != never) {
    static_cast<void>(disarm(*this));
    quiescence_of(core).disarmed();
  }
  state_.finish(); // before the pool may end: its owner then destroys the routine
  waiting_routines_of(core).left(this);
}

/// The destructor of a routine that is not idle.
void routine::end_of_life() noexcept {
  if (routine_run* const here = run_of(*this)) {
    here->of = nullptr;
    return;
  }
  wait_briefly<std_policy>(
      [this] { return state_.is_idle() || !state_.is_running() || was_left_behind(core_); });
  if (!state_.is_idle() && !was_left_behind(core_))
    os::die("a routine was destroyed while it was posted or waited; destroy it in its callback, or when that "
            "has returned without a post");
}

} // namespace rubato
