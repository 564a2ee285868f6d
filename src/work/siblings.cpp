// How tasks that are awaited together are forked, taken, and told to be over. docs/design/coroutines.md
#include "rubato/detail/siblings.hpp"

#include "rubato/detail/token_in_force.hpp"
#include "work/pool_core.hpp"
#include "work/trampoline.hpp"

#include <memory>
#include <utility>

namespace rubato::detail {

std::coroutine_handle<> sibling_activity::begin(member& /*runner*/) noexcept { return of_.frame_; }

void sibling_activity::end(bool finished) noexcept {
  if (finished) return;                                         // the result is where it belongs
  tombstone::destroy_frame(std::exchange(of_.frame_, nullptr)); // and it has failed, with broken_
}

void sibling_activity::fail(std::exception_ptr e) noexcept { of_.broken_ = std::move(e); }

void sibling_activity::dispose() noexcept {
  sibling& s = of_;
  dispose_state(this);
  s.group_->ended(s);
}

/// Null: there is no memory, and it has ended with that.
activity* sibling::go_away(pool_core& where) noexcept {
  try {
    activity* const a = make_state<sibling_activity>(*this, group_->around_);
    a->settle(&where);
    return a;
  } catch (std::bad_alloc const&) {
    never_ends(std::current_exception());
    group_->ended(*this);
    return nullptr;
  }
}

void sibling::never_ends(std::exception_ptr why) noexcept { broken_ = std::move(why); }

void sibling::queue() noexcept {
  pool_core& where = *group_->of_.home();
  auto const seat = static_cast<std::uint16_t>(group_->of_.seat);
  if (activity* const a = go_away(where)) {
    a->seat = seat;
    spawn_state(where, *a);
  }
}

/// By a thread that took it from the chain.
void sibling::run_elsewhere(latent_job& base, member& runner) {
  auto& self = static_cast<sibling&>(base);
  // In place of the token that was in force in the chain that it was taken from: that may be one of tasks
  // which the coroutine has awaited together since.
  token_in_force const token(runner.chain, &self.group_->around_);
  // On the runner's pool: the coroutine may be moving at this moment.
  if (activity* const a = self.go_away(*runner.core)) a->resume(runner);
}

void sibling_group::start(sibling& s) noexcept {
  of_.children_begun(1);
  s.queue();
}

void sibling_group::start_all() noexcept {
  next_ = count_;
  for (std::uint32_t i = 0; i != count_; ++i) start(all_[i]);
}

void sibling_group::fork() noexcept {
  of_.stops_with(around_);
  member& me = *current;
  // A chain is where workers look. Without any, and on a given seat, they must be where the others' work is.
  bool const latent = of_.seat == future_state::any_seat && of_.home()->size() != 0;
  first_latent_ = count_;
  flushes_ = of_.flushes();
  while (first_latent_ > 1 && latent && !me.chain.full()) me.chain.push(&all_[--first_latent_]);
  for (std::uint32_t i = 1; i < first_latent_; ++i) start(all_[i]);
  if (me.chain.must_look()) answer(me);
}

/// The coroutine goes on.
inline void sibling_group::pass_on() noexcept {
  of_.stops_with(*outer_);
  own_trampoline.next = promise().continuation();
}

void sibling_group::one_has_ended(void* group) noexcept {
  auto& self = static_cast<sibling_group&>(*static_cast<junction*>(group));
  if (self.here_->has_failed()) [[unlikely]]
    self.note(*self.here_); // what is forked is no race
  if (self.stayed_ == self.count_) [[likely]]
    self.pass_on();
  else
    self.go_on();
}

/// What the loop of resumptions does next: one of them, or the coroutine, unless that has to wait.
void sibling_group::go_on() noexcept {
  while (find_next()) {
    ++stayed_;
    if (!around_.stop_requested()) [[likely]] {
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

/// Is there one that is to run here now?
inline bool sibling_group::find_next() noexcept {
  if (next_ == 0 && count_ != 0) {
    here_ = &all_[0];
    next_ = first_latent_;
    return true;
  }
  if (next_ == count_) return false;
  // The coroutine has been suspended, and so has queued them. Else the newest of the chain is ours.
  if (of_.flushes() != flushes_) {
    next_ = count_;
    return false;
  }
  latent_chain& chain = current->chain;
  if (chain.asymmetric() && chain.pop()) [[likely]] {
    here_ = &all_[next_++];
    return true;
  }
  return settle_next();
}

// What is rare is out of line, or it would cost the functions above a frame.

[[gnu::noinline, gnu::cold]] bool sibling_group::settle_next() noexcept {
  latent_chain& chain = current->chain;
  if (chain.asymmetric() ? chain.pop_slow() : chain.pop_fenced() || chain.pop_slow()) {
    here_ = &all_[next_++];
    return true;
  }
  of_.children_begun(count_ - next_); // nor are those that are older
  while (++next_ != count_) static_cast<void>(chain.pop_settled());
  return false;
}

/// It was stopped before it began.
[[gnu::noinline, gnu::cold]] void sibling_group::pass_over() noexcept {
  here_->never_ends(cancelled_error());
  note(*here_);
}

[[gnu::noinline, gnu::cold]] void sibling_group::wait_for_others() noexcept {
  std::coroutine_handle<> const coroutine = promise().continuation();
  rested_ = true;
  of_.stops_with(*outer_);
  if (!rest().suspend(coroutine, promise().is_owned())) own_trampoline.next = coroutine;
}

[[gnu::noinline, gnu::cold]] void sibling_group::note(sibling const& s) noexcept {
  bool const failed = s.has_failed();
  auto const index = static_cast<std::uint32_t>(&s - all_);
  if (failed) {
    std::uint32_t expected = none;
    // relaxed: ordered by left_. The group stays until this one is counted as ended, so it can be stopped.
    if (first_failed_.compare_exchange_strong(expected, index, std::memory_order_relaxed) &&
        outer_ != nullptr)
      around_.request_stop();
  }
  if (race_ != nullptr) race_->note(index, !failed);
}

/// Of one that was away. The group may be gone as soon as nobody is left, and so the coroutine is held.
void sibling_group::ended(sibling const& s) noexcept {
  activity& coroutine = of_;
  coroutine.hold();
  state_ref const held(&coroutine);
  note(s);
  // acq_rel: whoever comes last sees what the others have done.
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) rest_.value.end_wait();
  if (coroutine.child_ended()) coroutine.destroy();
}

bool sibling_group::wait_for_rest::insert() noexcept {
  std::uint32_t const mine = 1 + group_.stayed_;
  return group_.left_.fetch_sub(mine, std::memory_order_acq_rel) != mine; // as in ended()
}

void sibling_race::note(std::uint32_t index, bool success) noexcept {
  if (!success) last_failed_.store(index, std::memory_order_relaxed); // ordered by the end of all
  // One that was claimed and has failed nevertheless: no other can win any more.
  if ((success && claim(index)) || is_claimed_by(index)) decide();
  if (undecided_.fetch_sub(1, std::memory_order_acq_rel) == 1) decide(); // acq_rel: as in ended()
}

void sibling_race::decide() noexcept {
  // acq_rel: release pairs with await_ready(), acquire with insert().
  if (state_.exchange(state::decided, std::memory_order_acq_rel) == state::awaited) end_wait();
}

bool sibling_race::insert() noexcept {
  state expected = state::open;
  return state_.compare_exchange_strong(expected, state::awaited, std::memory_order_acq_rel,
                                        std::memory_order_acquire); // pairs with decide()
}

} // namespace rubato::detail
