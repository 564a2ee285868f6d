#include "rubato/detail/sched/child_source.hpp"

#include "sched/core/pool_core.hpp"

#include <mutex>
#include <utility>

namespace rubato::detail {

void child_source::enlist() noexcept {
  home_->scopes.push_back(*this);
  if (home_->departed) home_->core->threads.records.list(*home_);
  // seq_cst: pairs with any_child() of a thread that has announced its sleep, because a spawn that is an
  // event reads the sleepers next.
  home_->open_scopes.fetch_add(1, std::memory_order_seq_cst);
  listed_.store(true, std::memory_order_relaxed); // relaxed: decisions are made under the lock
}

void child_source::delist() noexcept {
  home_->scopes.erase(*this);
  bool const last = home_->open_scopes.fetch_sub(1, std::memory_order_relaxed) == 1;
  if (last && home_->departed) home_->core->threads.records.unlist(*home_);
  listed_.store(false, std::memory_order_relaxed);
}

void child_source::leave_list() noexcept {
  // relaxed: if a spawn enlists it at this moment, then that is none of the caller's children.
  if (!listed_.load(std::memory_order_relaxed)) return;
  std::lock_guard const list(home_->scopes_mutex);
  std::lock_guard const guard(mutex_);
  bool const stopped = stopped_.load(std::memory_order_relaxed);
  if (listed_.load(std::memory_order_relaxed) && (first_ == nullptr || stopped)) delist();
}

scope_child* child_source::take_locked() noexcept {
  if (first_ == nullptr || stopped_.load(std::memory_order_relaxed)) return nullptr;
  scope_child* const c = first_;
  first_ = c->next;
  if (first_ == nullptr) last_ = nullptr;
  ++running_;
  return c;
}

scope_child* child_source::take_child() noexcept {
  std::lock_guard const guard(mutex_);
  return take_locked();
}

bool child_source::any_child(pool_thread const& t) noexcept {
  if (t.open_scopes.load(std::memory_order_seq_cst) == 0) return false; // seq_cst: see enlist()
  auto& home = const_cast<pool_thread&>(t); // NOLINT(cppcoreguidelines-pro-type-const-cast): only its lock
  std::lock_guard const list(home.scopes_mutex);
  // Nearly always the first has one. Those that have none leave, or every search would come across them.
  for (child_source* s = home.scopes.front(); s != nullptr;) {
    child_source* const next = intrusive_list<child_source>::after(*s);
    std::lock_guard const guard(s->mutex_);
    if (s->first_ != nullptr && !s->stopped_.load(std::memory_order_relaxed)) return true;
    s->delist();
    s = next;
  }
  return false;
}

scope_child* child_source::take_child_of(pool_thread& t) noexcept {
  if (t.open_scopes.load(std::memory_order_relaxed) == 0) return nullptr;
  std::lock_guard const list(t.scopes_mutex);
  for (child_source* s = t.scopes.front(); s != nullptr;) {
    child_source* const next = intrusive_list<child_source>::after(*s);
    std::lock_guard const guard(s->mutex_);
    scope_child* const c = s->take_locked();
    if (s->first_ == nullptr || c == nullptr) s->delist();
    if (c != nullptr) return c;
    s = next;
  }
  return nullptr;
}

} // namespace rubato::detail
