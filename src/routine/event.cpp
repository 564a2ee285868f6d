// How an event is set. docs/design/async-sync.md
#include "rubato/routine.hpp"

#include <mutex>

namespace rubato {

void event::set() noexcept {
  detail::woken all; // resumes the waiters when the lock is released: one may destroy the event
  std::lock_guard const guard(mutex_);
  // release: pairs with is_set(), because the waiter reads what the setter wrote.
  set_.store(true, std::memory_order_release);
  all.take(waiting_);
}

void event::reset() noexcept {
  std::lock_guard const guard(mutex_);
  set_.store(false, std::memory_order_relaxed); // relaxed: it publishes nothing
}

bool event::is_set() const noexcept {
  if (!set_.load(std::memory_order_acquire)) return false;
  // The setter may still hold the lock, and the caller may destroy the event.
  std::lock_guard const guard(mutex_);
  return true;
}

bool event::awaiter::insert() noexcept {
  std::lock_guard const guard(event_->mutex_);
  if (event_->set_.load(std::memory_order_relaxed)) return false; // relaxed: changes under the lock
  event_->waiting_.push(*this);
  return true;
}

bool event::awaiter::remove() noexcept {
  std::lock_guard const guard(event_->mutex_);
  return event_->waiting_.remove(*this);
}

task<bool> event::wait_until(std::chrono::steady_clock::time_point t) {
  task<bool> limited = with_deadline(wait(), t);
  bool const in_time = co_await std::move(limited);
  co_return in_time;
}

} // namespace rubato
