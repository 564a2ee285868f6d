// How coroutines are resumed, suspended and destroyed. docs/design/coroutines.md
#include "rubato/detail/coro/coroutine_task.hpp"

#include "os/clock.hpp"
#include "os/thread.hpp"
#include "rubato/cancelled.hpp"
#include "rubato/detail/coro/group.hpp"
#include "rubato/detail/sched/wait/arrival.hpp"
#include "rubato/detail/trace/note.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "sched/core/life_state.hpp"
#include "sched/run/search.hpp"
#include "work/hazard_guard.hpp"
#include "work/owned_tasks.hpp"
#include "work/pool_thread.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

namespace rubato::detail {

#if !defined(__clang__)
constinit thread_local trampoline own_trampoline;
#endif
[[gnu::noinline]] trampoline& this_trampoline() noexcept { return own_trampoline; }

namespace {

/// How much stack coroutines take that call each other.
constexpr std::uintptr_t nested_stack = 16 * 1024;

/// How long a coroutine goes on if its waits are all ready at once.
constexpr std::int64_t turn_us = 20;

/// Below this address of the calling thread's stack coroutines do not call each other: work that a get() runs
/// in place may lie on top of each other, 64 levels deep.
std::uintptr_t lowest_for_nested_calls() noexcept {
  [[gnu::tls_model("initial-exec")]] static thread_local constinit std::uintptr_t lowest = 0;
  if (lowest == 0) lowest = os::middle_of_stack();
  return lowest;
}

/// The coroutines that have not begun and that a thread is destroying inside each other.
struct unbegun_nest {
  static constexpr std::uint32_t deepest = 256;
  std::uint32_t depth = 1;
  std::coroutine_handle<>
      later; ///< to be destroyed afterwards, linked as if each had been awaited by the next
};
[[gnu::tls_model("initial-exec")]] thread_local constinit unbegun_nest* own_nest = nullptr;

} // namespace

void destroy_unbegun(std::coroutine_handle<> h) noexcept {
  if (unbegun_nest* const around = own_nest; around != nullptr) {
    if (around->depth == unbegun_nest::deepest) {
      own_promise::in(h).awaited_by(around->later);
      around->later = h;
      return;
    }
    ++around->depth;
    h.destroy();
    --around->depth;
    return;
  }
  unbegun_nest all;
  own_nest = &all;
  h.destroy();
  while (all.later != nullptr) {
    std::coroutine_handle<> const next = all.later;
    all.later = std::coroutine_handle<>::from_address(own_promise::in(next).awaiting());
    next.destroy();
  }
  own_nest = nullptr;
}

void destroy_generator(std::coroutine_handle<> h) noexcept {
  if (tombstone::stands_for(h) || own_promise::in(h).has_begun())
    tombstone::destroy_frame(h);
  else
    destroy_unbegun(h);
}

namespace {

/// The code with which a coroutine goes on: all supported compilers begin a frame with its address.
std::uint64_t code_of(void const* frame) noexcept { return *static_cast<std::uintptr_t const*>(frame); }

void note_resume(task const& t, void const* frame) noexcept {
  if (is_traced<event_kind::resume>()) [[unlikely]]
    note<event_kind::resume>(&t, code_of(frame));
}
/// `type`: of the wait; 0: it is another library's.
void note_suspend(task const& t, void const* frame, std::uint64_t type) noexcept {
  note<event_kind::stands_at>(&t, code_of(frame));
  note<event_kind::suspend>(&t, type);
}

} // namespace

void coroutine_task::resume(thread_context& runner) noexcept {
  wait_operation* const s = waits_on_.get();   // its own: it is being resumed
  if (s != nullptr && s->wait_again()) return; // it may run elsewhere by now
  if (progress const p = run(runner); p != progress::suspended) finish(p);
}

coroutine_task::progress coroutine_task::run(thread_context& runner) noexcept {
  token_in_force const token(runner.chain, token_of(*this));
  // First of all: another thread may read its frames, and the wait operation in one of them, until then.
  waits_on_.clear();
  if (leaf_ == nullptr) {
    if (stop.stop_requested()) {
      skipped();
      fail(cancelled_error());
    } else {
      leaf_ = begin(runner);
    }
  }
  void* frame = std::exchange(leaf_, nullptr).address();
  if (frame == nullptr) return progress::not_begun;
  bool const may_fork = seat.get() == any_seat && size_of(*home()) != 0;
  std::uintptr_t const stack_end = std::max(stack_position() - nested_stack, lowest_for_nested_calls());
  trampoline const outer =
      std::exchange(own_trampoline, trampoline{.running = this,
                                               .stack_end = stack_end,
                                               .fork_stack_end = may_fork ? stack_end : ~std::uintptr_t{0}});
  note_resume(*this, frame);
  void* const ended = reinterpret_cast<void*>(no_frame); // NOLINT(performance-no-int-to-ptr)
  do {
    std::coroutine_handle<>::from_address(frame).resume();
    frame = own_trampoline.next;
  } while (frame != nullptr && frame != ended);
  own_trampoline = outer;
  return frame == ended ? progress::ended : progress::suspended;
}

void coroutine_task::finish(progress p) noexcept {
  if (is_listed()) owned_tasks_of(*home()).remove(*this);
  end(p == progress::ended);
  complete();
}

bool coroutine_task::make_blank(std::uint32_t holders) noexcept {
  if (is_listed() || !is_held_only(holders) || !children_.none() || !stop.is_blank() || !queued.is_blank() ||
      asked.is_raised() || holds != outcome::none)
    return false;
  ready_waits_ = 0;
  stops_with(stop);
  return true;
}

void coroutine_task::drop() noexcept {
  hold(); // the last child may destroy it
  state_ref const held(this);
  // A pool waits for the tasks that it owns, and so for that child.
  if (!children_.none() && !is_listed()) owned_tasks_of(*home()).add(*this);
  if (children_.drop())
    destroy();
  else
    stop.request_stop();
}

/// By its pool, or by its last child, perhaps in another pool. As long as it is listed its pool does not end.
void coroutine_task::destroy() noexcept {
  pool_core& core = *home();
  bool const listed = is_listed();
  hold();
  state_ref const held(this);
  // The wait operation may be a part of an object that outlives the task, such as a generator.
  if (wait_operation* const s = waits_on_.clear()) s->retire();
  stops_with(stop); // the scope in force may be in a frame
  was_cut = true;
  fail(broken_promise());
  destroy_inner_frames();
  end(false);
  complete();
  if (!listed) return;
  hazard_guard const here(core);
  leave_owned_tasks(core, *this);
}

/// From the innermost outwards, so that a deep recursion needs no deep stack. A frame that has begun has no
/// owner, but for a generator's.
void coroutine_task::destroy_inner_frames() noexcept {
  while (leaf_ != nullptr) {
    own_promise const& p = own_promise::in(leaf_);
    std::coroutine_handle<> const around =
        p.is_outermost() ? nullptr : std::coroutine_handle<>::from_address(p.awaiting());
    void const* const outer = std::exchange(tombstone::wanted_for, leaf_.address());
    leaf_.destroy();
    tombstone::wanted_for = outer;
    leaf_ = around;
  }
}

bool coroutine_task::withdraw(owned_task const& /*as*/) noexcept {
  return waits_on_.use(
      [this](wait_operation& s) { return !stop.is_shielded() && children_.none() && s.withdraw(); });
}

void coroutine_task::settle_in() noexcept {
  if (is_listed()) return;
  owned_tasks_of(*home()).add(*this);
  life_state const& life = life_of(*home());
  if (life.is_discarding())
    stop.request_stop();
  else if (life.is_ending() && !stop.is_shielded())
    stop.request_drain();
}

bool coroutine_task::ends_with_pool() noexcept {
  life_state const& life = life_of(*home());
  return life.is_ending() && (life.is_discarding() || !scope().is_shielded());
}

/// Queues the members that the coroutine has forked and no thief has taken: any thread may run that, at once.
void coroutine_task::flush() noexcept {
  latent_chain& chain = current->chain;
  auto const forked = static_cast<std::uint32_t>(chain.mark() - chain.token_mark());
  if (forked == 0) return;
  children_begun(forked); // the taken ones too: only now is their number known
  for (std::uint32_t i = 0; i != forked; ++i) {
    auto& newest = static_cast<group_member&>(*chain.newest());
    if (chain.pop_settled()) newest.queue();
  }
}

void coroutine_task::suspend_elsewhere(std::coroutine_handle<> h) noexcept {
  flush();
  own_trampoline.next = nullptr;
  leaf_ = h;
  settle_in();
  if (is_traced<event_kind::suspend>()) [[unlikely]]
    note_suspend(*this, h.address(), 0);
}

void coroutine_task::requeue(std::coroutine_handle<> h, pool_core* to) {
  std::optional<arrival> in; // until it is queued
  if (to != nullptr && to != home())
    in.emplace(*to, arriving::begun);
  else if (life_of(*home()).is_discarding())
    throw cancelled();
  flush();
  own_trampoline.next = nullptr;
  leaf_ = h;
  if (to != nullptr && to != home()) {
    if (is_listed()) owned_tasks_of(*home()).remove(*this);
    seat.set(any_seat);
    set_home(to);
    if (queued.is_queued()) { // its old entry is
      queued.leave_behind();
      settle_in(); // without memory for a second one, the old pool passes it on: the new one must not end
    }
  }
  offer(*this, made_ready_by::call);
}

[[gnu::noinline]] bool coroutine_task::is_turn_over() noexcept {
  // Of the coroutine that looked last on this thread, which need not be this one: its turn ends a little
  // earlier or later then, but after 1,024 waits at the latest.
  os::ticks& turn_began = thread_of(*current).turn_began;
  os::ticks const now = os::now();
  if (ready_waits_ == waits_between_looks) {
    turn_began = now;
    return false;
  }
  if (ready_waits_ != 0 && now - turn_began < turn_us * ticks_per_us()) return false;
  ready_waits_ = 0;
  return true;
}

bool coroutine_task::let_others_run(std::coroutine_handle<> h) noexcept {
  try {
    requeue(h, nullptr);
    return true;
  } catch (cancelled const&) {
    settle_in(); // a task that has never waited learns here that its pool discards it
    return false;
  }
}

bool wait_operation::suspend(std::coroutine_handle<> h) {
  coroutine_task& a = *own_trampoline.running;
  own_trampoline.next = nullptr; // before another thread may resume it
  coroutine_ = &a;
  a.flush();
  a.settle_in();
  if (!structured_ && !a.scope().add(*this)) {
    state_.refuse();
    return false;
  }
  a.leaf_ = h;
  if (is_traced<event_kind::suspend>()) [[unlikely]]
    note_suspend(a, h.address(), type_word(*this));
  a.waits_on_.set(*this);
  bool inserted = false;
  try {
    inserted = insert();
  } catch (...) {
    a.waits_on_.clear();
    throw;
  }
  if (inserted && (stays_inserted() || wait_again())) return true;
  a.waits_on_.clear();
  note_resume(a, h.address());
  return false;
}

bool wait_operation::wait_again() noexcept {
  while (!state_.was_stopped()) {
    state_.start_again();
    if (!insert_again()) return false;
    if (stays_inserted()) return true;
  }
  return false;
}

void wait_operation::end_wait(made_ready_by cause) noexcept {
  if (state_.end()) offer(*coroutine_, cause);
}

void wait_operation::stop_requested() noexcept {
  // The coroutine may have gone on, and be in retire(), unless stop() returns true.
  if (state_.stop([this] { return remove(); })) offer(*coroutine_);
}

bool wait_operation::leave_scope() noexcept {
  // Once: afterwards the coroutine task may end before this does.
  if (coroutine_task* const a = std::exchange(coroutine_, nullptr)) a->scope().remove(*this);
  return state_.was_stopped();
}

} // namespace rubato::detail
