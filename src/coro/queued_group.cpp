// Groups whose members are queued, and races of tasks. docs/design/races.md
#include "rubato/detail/coro/queued_group.hpp"

namespace rubato::detail {

void queued_group::start_all() noexcept {
  group_member* const all = members();
  for (std::uint32_t i = 0, n = number(); i != n; ++i) {
    of_.children_begun(1);
    all[i].queue();
  }
}

void queued_group::begin_all_here() noexcept {
  group_member* const all = members();
  for (std::uint32_t i = 0, n = number(); i != n; ++i) {
    of_.children_begun(1);
    all[i].begin_here();
  }
}

void queued_group::one_has_ended(std::uint32_t index) noexcept {
  if (race_ != nullptr) race_->note(index, !slot(index).has_failed());
  if (left_.arrive()) rest_.value.end_wait();
}

void queued_group::destroy_frames() noexcept {
  group_member* const all = members();
  for (std::uint32_t i = 0, n = number(); i != n; ++i) all[i].destroy_frame();
}

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
