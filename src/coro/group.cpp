// How the members of a group run as lines of execution of their own. docs/design/coroutines.md
#include "rubato/detail/coro/group.hpp"

#include "rubato/detail/sched/wait/steal_service.hpp"
#include "rubato/detail/trace/note.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "sched/core/life_state.hpp"

#include <utility>

namespace rubato::detail {

group_member_task::group_member_task(group_member& m, stop_scope& around) noexcept
    : link_holder(&around)
    , coroutine_task(1, &link)
    , of_(m) {
  queued.set_priority(m.group().coroutine().queued.level()); // awaited together: a part of what awaits it
  if (!m.promise().begins_though_stopped()) return;
  m.promise().begins_outermost();
  begin_at(std::exchange(m.frame_, nullptr));
}

std::coroutine_handle<> group_member_task::begin(thread_context& /*runner*/) noexcept {
  of_.promise().begins_outermost();
  return std::exchange(of_.frame_, nullptr);
}

void group_member_task::end(bool finished) noexcept {
  if (!finished) of_.destroy_frame(); // else the result is where it belongs
}

/// A member that a discard drops is cancelled, as the waits of the coroutine that awaits it are.
void group_member_task::fail(std::exception_ptr e) noexcept {
  of_.group().slot_of(of_).fail(life_of(*home()).is_discarding() ? cancelled_error() : std::move(e));
}

race_entry group_member_task::entry() const noexcept { return of_.group().entry_of(of_); }

work_origin group_member_task::origin() const noexcept { return {.group_of = &of_.group().coroutine()}; }

void group_member_task::dispose() noexcept {
  group_member& m = of_;
  free_in_slab(this);
  m.group().ended(m);
}

/// Null: there is no memory, and the member has failed with that.
coroutine_task* group_member::make_task(pool_core& where) noexcept {
  try {
    coroutine_task* const made = make_in_slab<group_member_task>(*this, group().scope());
    made->set_home(&where);
    return made;
  } catch (std::bad_alloc const&) {
    group().slot_of(*this).fail(std::current_exception());
    destroy_frame(); // as for any member that never runs
    group().ended(*this);
    return nullptr;
  }
}

void group_member::queue() noexcept {
  coroutine_task& awaiting = group().coroutine();
  pool_core& where = *awaiting.home();
  std::uint16_t const seat = awaiting.seat.get();
  if (coroutine_task* const made = make_task(where)) {
    made->seat.set(seat);
    spawn_state(where, *made);
  }
}

void group_member::begin_here() noexcept {
  coroutine_task& awaiting = group().coroutine();
  coroutine_task* const made = make_task(*awaiting.home());
  if (made == nullptr) return;
  made->seat.set(awaiting.seat.get());
  made->resume(*current);
}

/// By a thread that took it from the chain, perhaps with others of the group. Its scope is that of the group,
/// whatever is in force in the owner's chain, perhaps for a group that the coroutine has forked since.
void group_member::run_elsewhere(latent_job& base, thread_context& runner) {
  auto& oldest = static_cast<group_member&>(base);
  if (oldest.newer == nullptr)
    oldest.run_on(runner);
  else
    run_several(oldest, runner);
}

void group_member::run_on(thread_context& runner) noexcept {
  // On the runner's pool: the coroutine may be moving at this moment.
  if (coroutine_task* const made = make_task(*runner.core)) made->resume(runner);
}

/// All but one are latent here until their turn comes, so that other threads get some of them.
void group_member::run_several(group_member& oldest, thread_context& runner) noexcept {
  latent_chain& chain = runner.chain;
  group_member* m = &oldest;
  std::size_t latent = 0;
  for (; m->newer != nullptr && !chain.full(); ++latent) {
    auto* const next = static_cast<group_member*>(m->newer);
    chain.push(m); // from here on another thread may run it
    m = next;
  }
  for (group_member* next = nullptr; m != nullptr; m = next) { // more than one if the chain is full
    next = static_cast<group_member*>(m->newer);               // read before: the group may be gone
    run_next(*m, runner);
  }
  for (; latent != 0; --latent) {
    m = static_cast<group_member*>(chain.newest());
    if (chain.pop_settled()) run_next(*m, runner); // else another thread has it, and all older ones
  }
}

void group_member::run_next(group_member& m, thread_context& runner) noexcept {
  if (runner.chain.must_poll()) poll_requests(runner);
  if (is_traced<event_kind::begin>()) [[unlikely]] {
    noted_activity const runs(activity::latent, &m, trace_word(m.exec.get()));
    m.run_on(runner);
  } else {
    m.run_on(runner);
  }
}

void group_base::ended(group_member const& m) noexcept {
  coroutine_task& awaiting = coroutine();
  awaiting.hold();
  state_ref const held(&awaiting);
  f_->member_ended(*this, index_of(m));
  if (awaiting.child_ended()) awaiting.destroy();
}

void throw_if_memory_lacked(std::exception_ptr const& e) {
  if (e == nullptr) return;
  try {
    std::rethrow_exception(e);
  } catch (std::bad_alloc const&) {
    throw;
  } catch (...) { // NOLINT(bugprone-empty-catch): its pool has dropped it
  }
}

} // namespace rubato::detail
