// How a latch opens. docs/design/async-sync.md
#include "rubato/sync.hpp"

#include <mutex>
#include <stdexcept>

namespace rubato {

void async_latch::count_down_last(std::size_t n) {
  detail::woken all;
  std::lock_guard const guard(mutex_);
  std::size_t left = left_.load(std::memory_order_relaxed);
  do
    if (n > left) throw std::logic_error("rubato: async_latch::count_down() by more than was left");
  // acq_rel: release, as in count_down(); acquire: pairs with all who came before, for those who are let
  // through without having seen what they wrote.
  while (!left_.compare_exchange_weak(left, left - n, std::memory_order_acq_rel, std::memory_order_relaxed));
  if (left == n) all.take(waiting_);
}

bool async_latch::try_wait() const noexcept {
  // acquire: pairs with all who have counted it down.
  if (left_.load(std::memory_order_acquire) != 0) return false;
  // The last one may still hold the lock, and the caller may destroy the latch.
  std::lock_guard const guard(mutex_);
  return true;
}

bool async_latch::awaiter::insert() noexcept {
  std::lock_guard const guard(latch_->mutex_);
  // relaxed: it becomes 0 under the lock.
  if (latch_->left_.load(std::memory_order_relaxed) == 0) return false;
  latch_->waiting_.push(*this);
  return true;
}

bool async_latch::awaiter::remove() noexcept {
  std::lock_guard const guard(latch_->mutex_);
  return latch_->waiting_.remove(*this);
}

} // namespace rubato
