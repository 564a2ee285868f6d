// How tasks that are awaited together are forked, stolen and joined, where that is no plain sequence of
// calls. docs/design/coroutines.md
#include "rubato/detail/coro/forked_group.hpp"

#include "rubato/detail/sched/wait/steal_service.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <utility>

namespace rubato::detail {

// The scope in force, and that of a group.

stop_scope& scope_word::scope_of_group() const noexcept { return group()->own_scope(); }
stop_level scope_word::level_of_group() const noexcept { return group()->level(); }

stop_scope& forked_group::own_scope() noexcept {
  if (!state_.has_scope()) build_scope();
  return scope_.value.own;
}

stop_level forked_group::level() noexcept {
  // A loop: a nest may be deep.
  for (forked_group* g = this;;) {
    if (g->state_.has_scope()) return g->scope_.value.own.level();
    scope_word const outer = g->outer_.value;
    if (outer.group() == nullptr) return outer.level();
    g = outer.group();
  }
}

/// First those of the groups around that have none.
void forked_group::build_scope() noexcept {
  forked_group* inner = nullptr;
  for (forked_group* g = this; g != nullptr && g->state_.begin_scope(); g = g->outer_.value.group()) {
    g->inner_.value = inner;
    inner = g;
  }
  while (inner != nullptr) {
    forked_group& g = *std::exchange(inner, inner->inner_.value);
    std::construct_at(&g.scope_.value, g.outer_.value.scope());
    g.state_.scope_is_built();
  }
}

// The way of the coroutine from member to member.

/// Workers steal from chains. In a pool without workers, and on a given seat, all members are queued.
bool forked_group::begin_slowly() noexcept {
  thread_context& me = *current;
  group_member* const all = members();
  of_->in_force(scope_word(*this));
  std::uint32_t first_latent = number();
  while (first_latent > 1 && own_trampoline.may_fork() && !me.chain.full())
    me.chain.push(&all[--first_latent]);
  elsewhere_ = first_latent - 1;
  of_->children_begun(elsewhere_);
  for (std::uint32_t i = 1; i < first_latent; ++i) all[i].queue();
  if (me.chain.must_poll()) poll_requests(me);
  return go_on();
}

bool forked_group::go_on() noexcept {
  std::uint32_t here = 0;
  return find_next(here) ? run_from(here) : join_rest();
}

/// Takes the next member to run here. False: none is left.
bool forked_group::find_next(std::uint32_t& here) noexcept {
  if (next_ == 0) {
    here = 0;
    next_ = 1 + elsewhere_;
    return true;
  }
  if (next_ == number()) return false;
  latent_chain& chain = current->chain;
  // The coroutine was suspended, and has queued the members: it has no fork left in the chain. Else the
  // newest job of the chain is the group's, because the groups that its members have awaited have ended.
  if (chain.mark() == chain.token_mark()) {
    elsewhere_ += number() - next_;
    next_ = number();
    return false;
  }
  if (chain.pop_settled()) {
    here = next_++;
    return true;
  }
  leave_rest();
  return false;
}

/// The next member was stolen, and so were all behind it.
void forked_group::leave_rest() noexcept {
  std::uint32_t const rest = number() - next_;
  of_->children_begun(rest);
  elsewhere_ += rest;
  while (++next_ != number()) static_cast<void>(current->chain.pop_settled());
}

/// The pop of that member, the next one, was not certain.
bool forked_group::settle(std::uint32_t index) noexcept {
  if (current->chain.pop_slow()) {
    next_ = index + 1;
    return run_from(index);
  }
  leave_rest();
  return join_rest();
}

bool forked_group::run_from(std::uint32_t here) noexcept {
  do {
    group_member& m = members()[here];
    if (!may_begin(m)) {
      pass_over(here);
      continue;
    }
    m.promise().awaited_by(*this);
    if (!call_nested(m.frame_.address(), join_address())) return false;
    if (slot(here).has_failed()) note_failure(here);
  } while (find_next(here));
  return join_rest();
}

/// A member has ended whose caller was the resumption loop.
void forked_group::one_has_ended(void* group) noexcept {
  auto& self = static_cast<forked_group&>(*static_cast<join_point*>(group));
  std::uint32_t const here = self.next_ == 1 + self.elsewhere_ ? 0 : self.next_ - 1;
  if (self.slot(here).has_failed()) self.note_failure(here);
  if (self.go_on()) own_trampoline.next = self.promise().awaiting();
}

/// No member is left to run here.
bool forked_group::join_rest() noexcept {
  of_->in_force(outer_.value);
  if (elsewhere_ == 0) return true;
  state_.begin_wait();
  auto const coroutine = std::coroutine_handle<>::from_address(promise().awaiting());
  return !std::construct_at(&rest_.value, *this)->suspend(coroutine);
}

// Stops and failures.

bool forked_group::may_begin(group_member const& m) noexcept {
  if (m.promise().begins_though_stopped()) return true;
  std::uint64_t const now = stop_requests.get(); // the levels that were set before it rose are read next
  if (of_->clear_at == now) return true;
  stop_level const found = level();
  if (found == stop_level::none) of_->clear_at = now;
  return found != stop_level::stopped;
}

/// It was stopped before it began.
void forked_group::pass_over(std::uint32_t index) noexcept {
  members()[index].destroy_frame();
  slot(index).fail(cancelled_error());
  note_failure(index);
}

void forked_group::note_failure(std::uint32_t index) noexcept {
  std::exception_ptr error = slot(index).take_failure();
  if (!state_.claim_failure(index)) return;
  std::construct_at(&error_.value, std::move(error));
  state_.failure_is_stored();
  own_scope().request_stop(); // the group stays until this member is counted as ended
}

void forked_group::one_ended_elsewhere(std::uint32_t index) noexcept {
  if (slot(index).has_failed()) note_failure(index);
  if (state_.end_elsewhere()) rest_.value.end_wait();
}

void forked_group::leave_wait() {
  if (state_.has_waited()) rest_.value.retire();
  if (state_.has_failed()) std::rethrow_exception(error_.value);
}

void forked_group::clean_up() noexcept {
  for (std::uint32_t const n = number(); next_ != n; ++next_) members()[next_].destroy_frame();
  if (state_.has_scope()) std::destroy_at(&scope_.value);
  if (state_.has_failed()) std::destroy_at(&error_.value);
}

} // namespace rubato::detail
