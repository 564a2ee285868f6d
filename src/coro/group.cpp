// How the members of a group run as lines of execution of their own. docs/design/coroutines.md
#include "rubato/detail/coro/group.hpp"

#include "rubato/detail/work/pool_port.hpp"
#include "sched/core/life_state.hpp"

#include <utility>

namespace rubato::detail {

group_member_task::group_member_task(group_member& m, stop_scope& around) noexcept
    : link_holder(&around)
    , coroutine_task(1, &link)
    , of_(m) {
  queued.set_priority(m.group_->coroutine().queued.level()); // awaited together: a part of what awaits it
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
  of_.group_->slot_of(of_).fail(life_of(*home()).is_discarding() ? cancelled_error() : std::move(e));
}

race_entry group_member_task::entry() const noexcept { return of_.group_->entry_of(of_); }

work_origin group_member_task::origin() const noexcept { return {.group_of = &of_.group_->coroutine()}; }

void group_member_task::dispose() noexcept {
  group_member& m = of_;
  free_in_slab(this);
  m.group_->ended(m);
}

/// Null: there is no memory, and the member has failed with that.
coroutine_task* group_member::make_task(pool_core& where) noexcept {
  try {
    coroutine_task* const made = make_in_slab<group_member_task>(*this, group_->scope());
    made->set_home(&where);
    return made;
  } catch (std::bad_alloc const&) {
    group_->slot_of(*this).fail(std::current_exception());
    destroy_frame(); // as for any member that never runs
    group_->ended(*this);
    return nullptr;
  }
}

void group_member::queue() noexcept {
  coroutine_task& awaiting = group_->coroutine();
  pool_core& where = *awaiting.home();
  std::uint16_t const seat = awaiting.seat.get();
  if (coroutine_task* const made = make_task(where)) {
    made->seat.set(seat);
    spawn_state(where, *made);
  }
}

void group_member::begin_here() noexcept {
  coroutine_task& awaiting = group_->coroutine();
  coroutine_task* const made = make_task(*awaiting.home());
  if (made == nullptr) return;
  made->seat.set(awaiting.seat.get());
  made->resume(*current);
}

/// By a thread that took it from the chain: its scope is that of the group, whatever is in force in the
/// owner's chain, perhaps for a group that the coroutine has forked since.
void group_member::run_elsewhere(latent_job& base, thread_context& runner) {
  auto& self = static_cast<group_member&>(base);
  // On the runner's pool: the coroutine may be moving at this moment.
  if (coroutine_task* const made = self.make_task(*runner.core)) made->resume(runner);
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
