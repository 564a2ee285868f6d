#include "sched/threads/record_table.hpp"

#include <mutex>

namespace rubato::detail {

void record_table::insert(unsigned i) noexcept {
  groups_[i / width].in_use.fetch_or(bit_of(i), std::memory_order_seq_cst); // pairs with find()
}

void record_table::erase(unsigned i) noexcept {
  // relaxed: a search that still visits the record finds nothing there.
  groups_[i / width].in_use.fetch_and(~bit_of(i), std::memory_order_relaxed);
}

void record_table::publish(pool_thread& t) noexcept {
  // release, both: pair with at() and known(), because the record was written before.
  groups_[t.index / width].records[t.index % width].store(&t, std::memory_order_release);
  known_.store(t.index + 1, std::memory_order_release);
}

void record_table::enter(pool_thread& t) noexcept {
  std::lock_guard const guard(t.scopes_mutex);
  t.departed = false;
  insert(t.index);
}

void record_table::leave(pool_thread& t) noexcept {
  std::lock_guard const guard(t.scopes_mutex);
  t.departed = true;
  // relaxed: changed under the lock.
  if (t.open_scopes.load(std::memory_order_relaxed) == 0) erase(t.index);
}

} // namespace rubato::detail
