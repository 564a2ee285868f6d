// How tasks that are awaited together are forked, stolen and joined. docs/design/coroutines.md
#include "rubato/detail/coro/fork_group.hpp"

#include "coro/trampoline.hpp"
#include "rubato/detail/sched/wait/steal_service.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "sched/core/life_state.hpp"

#include <utility>

namespace rubato::detail {

group_member_task::group_member_task(group_member& s, stop_scope& around) noexcept
    : link_holder(&around)
    , coroutine_task(1, &link)
    , of_(s) {
  queued.set_priority(s.group_->of_.queued.level()); // what is awaited together is a part of what awaits it
  if (!s.begins_though_stopped()) return;
  s.promise_->holds(outcome::none);
  s.promise_->begins_outermost();
  begin_at(s.frame_);
}

std::coroutine_handle<> group_member_task::begin(thread_context& /*runner*/) noexcept {
  of_.promise_->begins_outermost();
  return of_.frame_;
}

void group_member_task::end(bool finished) noexcept {
  if (finished) return;                                         // the result is where it belongs
  tombstone::destroy_frame(std::exchange(of_.frame_, nullptr)); // and it has failed, with broken_
}

/// A member that a discard drops is cancelled, as the waits of the coroutine that awaits it are.
void group_member_task::fail(std::exception_ptr e) noexcept {
  of_.broken_ = life_of(*home()).is_discarding() ? cancelled_error() : std::move(e);
}

race_entry group_member_task::entry() const noexcept {
  fork_group const& g = *of_.group_;
  return {g.race_, static_cast<std::uint32_t>(&of_ - g.all_)};
}

void group_member_task::dispose() noexcept {
  group_member& s = of_;
  free_in_slab(this);
  s.group_->ended(s);
}

/// Null: there is no memory, and the member has failed with that.
coroutine_task* group_member::make_task(pool_core& where) noexcept {
  try {
    coroutine_task* const a = make_in_slab<group_member_task>(*this, group_->around_);
    a->set_home(&where);
    return a;
  } catch (std::bad_alloc const&) {
    broken_ = std::current_exception();
    tombstone::destroy_frame(std::exchange(frame_, nullptr)); // as for any member that never runs
    group_->ended(*this);
    return nullptr;
  }
}

void group_member::throw_if_memory_lacked() const {
  if (broken_ == nullptr) return;
  try {
    std::rethrow_exception(broken_);
  } catch (std::bad_alloc const&) {
    throw;
  } catch (...) { // NOLINT(bugprone-empty-catch): its pool has dropped it
  }
}

void group_member::queue() noexcept {
  pool_core& where = *group_->of_.home();
  std::uint16_t const seat = group_->of_.seat.get();
  if (coroutine_task* const a = make_task(where)) {
    a->seat.set(seat);
    spawn_state(where, *a);
  }
}

/// By a thread that took it from the chain.
void group_member::run_elsewhere(latent_job& base, thread_context& runner) {
  auto& self = static_cast<group_member&>(base);
  // In place of the token that is in force in the owner's chain: that may belong to a group that the
  // coroutine has forked since.
  token_in_force const token(runner.chain, &self.group_->around_);
  // On the runner's pool: the coroutine may be moving at this moment.
  if (coroutine_task* const a = self.make_task(*runner.core)) a->resume(runner);
}

void fork_group::start(group_member& s) noexcept {
  of_.children_begun(1);
  s.queue();
}

void fork_group::start_all() noexcept {
  next_ = count_;
  for (std::uint32_t i = 0; i != count_; ++i) start(all_[i]);
}

void fork_group::begin_all_here() noexcept {
  next_ = count_;
  for (std::uint32_t i = 0; i != count_; ++i) {
    of_.children_begun(1);
    coroutine_task* const a = all_[i].make_task(*of_.home());
    if (a == nullptr) continue;
    a->seat.set(of_.seat.get());
    a->resume(*current);
  }
}

void fork_group::fork() noexcept {
  of_.stops_with(around_);
  thread_context& me = *current;
  // Workers steal from chains. In a pool without workers, and on a given seat, all members are queued.
  bool const latent = of_.seat.get() == future_state::any_seat && size_of(*of_.home()) != 0;
  first_latent_ = count_;
  while (first_latent_ > 1 && latent && !me.chain.full()) me.chain.push(&all_[--first_latent_]);
  for (std::uint32_t i = 1; i < first_latent_; ++i) start(all_[i]);
  if (me.chain.must_poll()) poll_requests(me);
}

/// The coroutine goes on.
inline void fork_group::pass_on() noexcept {
  of_.stops_with(*outer_);
  own_trampoline.next = promise().continuation();
}

void fork_group::one_has_ended(void* group) noexcept {
  auto& self = static_cast<fork_group&>(*static_cast<join_point*>(group));
  if (self.here_->has_failed()) [[unlikely]]
    self.note(*self.here_); // a forked group is no race
  if (self.stayed_ == self.count_) [[likely]]
    self.pass_on();
  else
    self.go_on();
}

/// The frame that the trampoline resumes next: a member's, or the coroutine's unless it has to wait.
void fork_group::go_on() noexcept {
  while (find_next()) {
    ++stayed_;
    if (!around_.stop_requested() || here_->begins_though_stopped()) [[likely]] {
      here_->promise_->owned_by(*this);
      own_trampoline.next = here_->frame_;
      return;
    }
    pass_over();
  }
  if (stayed_ == count_)
    pass_on();
  else
    wait_for_others();
}

/// Takes the next member to run here. False: none is left.
inline bool fork_group::find_next() noexcept {
  if (next_ == 0 && count_ != 0) {
    here_ = &all_[0];
    next_ = first_latent_;
    return true;
  }
  if (next_ == count_) return false;
  latent_chain& chain = current->chain;
  // The coroutine was suspended, and has queued the members: it has no fork left in the chain. Else the
  // newest job of the chain is the group's, because the groups that its members have awaited have ended.
  if (chain.mark() == own_trampoline.mark) {
    next_ = count_;
    return false;
  }
  if (chain.asymmetric() && chain.pop()) [[likely]] {
    here_ = &all_[next_++];
    return true;
  }
  return settle_next();
}

// Rare paths are out of line: inline they would cost the functions above a frame.

[[gnu::noinline, gnu::cold]] bool fork_group::settle_next() noexcept {
  latent_chain& chain = current->chain;
  if (chain.asymmetric() ? chain.pop_slow() : chain.pop_fenced() || chain.pop_slow()) {
    here_ = &all_[next_++];
    return true;
  }
  of_.children_begun(count_ - next_); // all older ones are stolen too
  while (++next_ != count_) static_cast<void>(chain.pop_settled());
  return false;
}

/// The member was stopped before it began.
[[gnu::noinline, gnu::cold]] void fork_group::pass_over() noexcept {
  here_->broken_ = cancelled_error();
  note(*here_);
}

[[gnu::noinline, gnu::cold]] void fork_group::wait_for_others() noexcept {
  std::coroutine_handle<> const coroutine = promise().continuation();
  rested_ = true;
  of_.stops_with(*outer_);
  if (!rest().suspend(coroutine, promise().is_owned())) own_trampoline.next = coroutine;
}

[[gnu::noinline, gnu::cold]] void fork_group::note(group_member const& s) noexcept {
  bool const failed = s.has_failed();
  auto const index = static_cast<std::uint32_t>(&s - all_);
  // The group stays until this one is counted as ended, so it can be stopped.
  if (failed && first_failed_.claim(index) && outer_ != nullptr) around_.request_stop();
  if (race_ != nullptr) race_->note(index, !failed);
}

/// For a member that ran elsewhere. The group may be gone after the last one, so the coroutine is held.
void fork_group::ended(group_member const& s) noexcept {
  coroutine_task& coroutine = of_;
  coroutine.hold();
  state_ref const held(&coroutine);
  note(s);
  if (left_.arrive()) rest_.value.end_wait();
  if (coroutine.child_ended()) coroutine.destroy();
}

bool fork_group::wait_for_rest::insert() noexcept { return !group_.left_.arrive(1 + group_.stayed_); }

void group_race::note(std::uint32_t index, bool success) noexcept {
  bool const decides = success || by_ == decided_by::any_end;
  bool const has_won = decides ? is_claimed_at_last_by(index) : is_claimed_by(index);
  if (success) {
    if (has_won && missing_.arrive()) decide();
    return;
  }
  // A winner that fails is not replaced. Otherwise too few are left if one more has failed than may.
  if (!has_won && failures_.add(1) != spare_) return;
  if (!failed_.claim(index)) return;
  static_cast<void>(claim(stopped)); // with several winners it may be open
  decide();
}

void group_race::decide() noexcept {
  // acq_rel: release pairs with await_ready(), acquire with insert().
  if (state_.exchange(state::decided, std::memory_order_acq_rel) == state::awaited) end_wait();
}

bool group_race::insert() noexcept {
  state expected = state::open;
  return state_.compare_exchange_strong(expected, state::awaited, std::memory_order_acq_rel,
                                        std::memory_order_acquire); // pairs with decide()
}

} // namespace rubato::detail
