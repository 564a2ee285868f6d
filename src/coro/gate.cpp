#include "rubato/detail/coro/gate.hpp"

namespace rubato::detail {

void gate::open() noexcept {
  woken all; // resumes the waiters when the lock is released: one may destroy the gate
  lock_guard const guard(mutex_);
  open_.set(true);
  all.take(waiting_);
}

void gate::close() noexcept {
  lock_guard const guard(mutex_);
  open_.set(false);
}

bool gate::is_open() const noexcept {
  if (!open_.get()) return false;
  // Under the lock, after the thread that has opened it: the caller sees what that has written, and may
  // destroy the gate.
  lock_guard const guard(mutex_);
  return true;
}

bool gate::awaiter::insert() noexcept {
  lock_guard const guard(gate_->mutex_);
  if (gate_->open_.get()) return false;
  gate_->waiting_.push(*this);
  return true;
}

bool gate::awaiter::remove() noexcept {
  lock_guard const guard(gate_->mutex_);
  return gate_->waiting_.remove(*this);
}

} // namespace rubato::detail
