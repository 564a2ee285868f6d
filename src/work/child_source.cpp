#include "rubato/detail/work/child_source.hpp"

#include "rubato/detail/base/atomics.hpp"
#include "work/pool_thread.hpp"
#include "work/record_table.hpp"

namespace rubato::detail {

// The analysis does not know that the lock of the home, which the caller holds under another name, is this
// one.
void child_source::enlist() noexcept RUBATO_NOT_ANALYSED {
  home_->scopes.push_back(*this);
  if (home_->departed) home_->table->list(*home_);
  // Pairs with find_child() of a thread that has announced its sleep: a spawn that is an event reads the
  // sleepers next.
  home_->open_scopes.add(1);
  listed_.set(true); // decisions are made under the lock
}

void child_source::delist() noexcept RUBATO_NOT_ANALYSED {
  home_->scopes.erase(*this);
  bool const last = home_->open_scopes.subtract(1) == 1;
  if (last && home_->departed) home_->table->unlist(*home_);
  listed_.set(false);
}

void child_source::leave_list() noexcept {
  // If a spawn enlists it at this moment, then that is none of the caller's children.
  if (!listed_.get()) return;
  lock_guard const list(home_->scopes_mutex);
  lock_guard const guard(mutex_);
  bool const stopped = stopped_.get();
  if (listed_.get() && (first_ == nullptr || stopped)) delist();
}

scope_child* child_source::take_locked(bool newest) noexcept {
  if (first_ == nullptr || stopped_.get()) return nullptr;
  scope_child* const c = newest ? last_ : first_;
  (c->previous != nullptr ? c->previous->next : first_) = c->next;
  (c->next != nullptr ? c->next->previous : last_) = c->previous;
  ++running_;
  return c;
}

void child_source::add_last(scope_child& c) noexcept {
  c.previous = last_;
  (last_ != nullptr ? last_->next : first_) = &c;
  last_ = &c;
}

scope_child* child_source::take_child() noexcept {
  lock_guard const guard(mutex_);
  return take_locked(newest_first_);
}

bool child_source::find_child(pool_thread const& t) noexcept {
  if (t.open_scopes.get() == 0) return false; // see enlist()
  lock_guard const list(t.scopes_mutex);
  // Nearly always the first has one. Those that have none leave, or every search would come across them.
  while (child_source* const s = t.scopes.front()) {
    lock_guard const guard(s->mutex_);
    if (s->first_ != nullptr && !s->stopped_.get()) return true;
    s->delist();
  }
  return false;
}

scope_child* child_source::take_child_of(pool_thread& t) noexcept {
  if (t.open_scopes.peek() == 0) return nullptr;
  lock_guard const list(t.scopes_mutex);
  while (child_source* const s = t.scopes.front()) {
    lock_guard const guard(s->mutex_);
    scope_child* const c = s->take_locked();
    if (s->first_ == nullptr || c == nullptr) s->delist();
    if (c != nullptr) return c;
  }
  return nullptr;
}

} // namespace rubato::detail
