// How a phase of a barrier ends. docs/design/async-sync.md
#include "rubato/sync.hpp"

#include "rubato/detail/base/assert.hpp"

#include <stdexcept>

namespace rubato {

namespace {

constexpr char const* all_left = "rubato: all participants of this async_barrier have left it";

} // namespace

async_barrier::async_barrier(std::size_t participants)
    : expected_(participants) {
  if (participants == 0) throw std::invalid_argument("rubato: an async_barrier without participants");
}

/// Under the lock.
void async_barrier::end_phase(detail::woken& all) noexcept {
  RUBATO_ASSERT(arrived_ <= expected_, "more participants have arrived than there are", arrived_, expected_);
  arrived_ = 0;
  all.take(waiting_);
}

/// The last participant ends the phase without a wait. False: it is not the last, and has not arrived yet.
bool async_barrier::arrive_last() {
  detail::woken all;
  detail::lock_guard const guard(mutex_);
  if (expected_ == 0) throw std::logic_error(all_left);
  if (arrived_ + 1 != expected_) return false;
  end_phase(all);
  return true;
}

bool async_barrier::awaiter::insert() noexcept {
  async_barrier& b = *barrier_;
  detail::woken all;
  detail::lock_guard const guard(b.mutex_);
  if (b.arrived_ + 1 >= b.expected_) { // other participants have arrived or left since
    b.end_phase(all);
    return false;
  }
  ++b.arrived_;
  b.waiting_.push(*this);
  return true;
}

bool async_barrier::awaiter::remove() noexcept {
  detail::lock_guard const guard(barrier_->mutex_);
  if (!barrier_->waiting_.remove(*this)) return false;
  RUBATO_ASSERT(barrier_->arrived_ != 0, "a participant waits that has not arrived", barrier_->expected_);
  --barrier_->arrived_;
  return true;
}

void async_barrier::arrive_and_drop() {
  detail::woken all;
  detail::lock_guard const guard(mutex_);
  if (expected_ == 0) throw std::logic_error(all_left);
  if (--expected_ == arrived_) end_phase(all);
}

} // namespace rubato
