// How coroutines are resumed, suspended and destroyed. docs/design/coroutines.md
#include "rubato/detail/coro/coroutine_task.hpp"

#include "coro/trampoline.hpp"
#include "rubato/cancelled.hpp"
#include "rubato/detail/coro/fork_group.hpp"
#include "rubato/detail/sched/wait/arrival.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "sched/core/life_state.hpp"
#include "sched/run/search.hpp"
#include "work/hazard_guard.hpp"
#include "work/owned_tasks.hpp"

#include <new>
#include <optional>
#include <utility>

namespace rubato::detail {

[[gnu::noinline]] trampoline& this_trampoline() noexcept { return own_trampoline; }

namespace {

// The coroutines that have not begun and that the calling thread is destroying inside each other, and those
// that it destroys later, linked as if each had been awaited by the next. Apart: together they would take
// more bytes.
[[gnu::tls_model("initial-exec")]] thread_local constinit std::uint32_t nest_depth = 0;
[[gnu::tls_model("initial-exec")]] thread_local constinit std::coroutine_handle<> left_for_later;
constexpr std::uint32_t deepest_nest = 256;

} // namespace

void destroy_unbegun(std::coroutine_handle<> h) noexcept {
  if (nest_depth == deepest_nest) {
    own_promise::in(h).link_to(left_for_later);
    left_for_later = h;
    return;
  }
  ++nest_depth;
  h.destroy();
  while (nest_depth == 1 && left_for_later != nullptr) {
    std::coroutine_handle<> const next = left_for_later;
    left_for_later = own_promise::in(next).continuation();
    next.destroy();
  }
  --nest_depth;
}

void coroutine_task::resume(thread_context& runner) noexcept {
  wait_operation* const s = waits_on_.get();   // its own: it is being resumed
  if (s != nullptr && s->wait_again()) return; // it may run elsewhere by now
  bool finished = false;
  {
    token_in_force const token(runner.chain, scope_);
    if (leaf_ == nullptr) {
      if (stop.stop_requested()) {
        skipped();
        fail(cancelled_error());
      } else {
        leaf_ = begin(runner);
      }
    }
    if (std::coroutine_handle<> h = std::exchange(leaf_, nullptr)) {
      waits_on_.clear(); // before the wait operation, a part of its frame, is destroyed
      trampoline const outer =
          std::exchange(own_trampoline, trampoline{this, nullptr, false, runner.chain.mark()});
      for (; h != nullptr; h = std::exchange(own_trampoline.next, nullptr)) h.resume();
      // Unless it has finished it may run elsewhere by now, and be gone.
      finished = own_trampoline.finished;
      own_trampoline = outer;
      if (!finished) return;
    }
  }
  if (is_listed()) owned_tasks_of(*home()).remove(*this);
  end(finished);
  complete();
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
  scope_ = &stop; // the scope in force may be in a frame
  was_cut = true;
  fail(broken_promise());
  destroy_inner_frames();
  end(false);
  complete();
  if (!listed) return;
  hazard_guard const here(core);
  leave_owned_tasks(core, *this);
}

/// From the innermost outwards, so that a deep recursion needs no deep stack. It stops at a foreign frame.
void coroutine_task::destroy_inner_frames() noexcept {
  if (leaf_is_ours_ == 0) return;
  while (leaf_ != nullptr && own_promise::in(leaf_).is_owned()) {
    std::coroutine_handle<> const around = own_promise::in(leaf_).continuation();
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

void coroutine_task::stops_with(stop_scope& s) noexcept {
  scope_ = &s;
  current->chain.change_token(&s);
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

/// Queues the members that the coroutine has forked and no thief has taken: any thread may run that, at once.
void coroutine_task::flush() noexcept {
  latent_chain& chain = current->chain;
  auto const forked = static_cast<std::uint32_t>(chain.mark() - own_trampoline.mark);
  if (forked == 0) return;
  children_begun(forked); // the taken ones too: only now is their number known
  for (std::uint32_t i = 0; i != forked; ++i) {
    auto& newest = static_cast<group_member&>(*chain.newest());
    if (chain.pop_settled()) newest.queue();
  }
}

void coroutine_task::suspend_elsewhere(std::coroutine_handle<> h) noexcept {
  flush();
  leaf_ = h;
  leaf_is_ours_ = 0;
  settle_in();
}

void coroutine_task::requeue(std::coroutine_handle<> h, bool is_ours, pool_core* to) {
  std::optional<arrival> in; // until it is queued
  if (to != nullptr && to != home())
    in.emplace(*to, arriving::begun);
  else if (life_of(*home()).is_discarding())
    throw cancelled();
  flush();
  leaf_ = h;
  leaf_is_ours_ = is_ours ? 1 : 0;
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

bool coroutine_task::let_others_run(std::coroutine_handle<> h, bool is_ours) noexcept {
  try {
    requeue(h, is_ours, nullptr);
    return true;
  } catch (cancelled const&) {
    settle_in(); // a task that has never waited learns here that its pool discards it
    return false;
  }
}

bool wait_operation::suspend(std::coroutine_handle<> h, bool is_ours) {
  coroutine_task& a = *own_trampoline.running;
  coroutine_ = &a;
  a.flush();
  a.settle_in();
  if (!structured_ && !a.scope().add(*this)) {
    state_.refuse();
    return false;
  }
  a.leaf_ = h;
  a.leaf_is_ours_ = is_ours ? 1 : 0;
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

bool wait_operation::retire() noexcept {
  // Once: afterwards the coroutine task may end before this does.
  if (coroutine_task* const a = std::exchange(coroutine_, nullptr)) a->scope().remove(*this);
  return state_.was_stopped();
}

} // namespace rubato::detail
