#include "sched/threads/record_table.hpp"

namespace rubato::detail {

void record_table::insert(unsigned i) noexcept {
  groups_[i / width].in_use.fetch_or(bit_of(i), std::memory_order_seq_cst); // pairs with find()
}

void record_table::erase(unsigned i) noexcept {
  // relaxed: a search that still visits the record finds nothing there.
  groups_[i / width].in_use.fetch_and(~bit_of(i), std::memory_order_relaxed);
}

void record_table::publish(pool_thread& t) noexcept {
  groups_[t.index / width].records[t.index % width].publish(&t);
  known_.publish(t.index + 1);
}

void record_table::enter(pool_thread& t) noexcept {
  lock_guard const guard(t.scopes_mutex);
  t.departed = false;
  insert(t.index);
}

void record_table::leave(pool_thread& t) noexcept {
  lock_guard const guard(t.scopes_mutex);
  t.departed = true;
  if (t.open_scopes.peek() == 0) erase(t.index);
}

} // namespace rubato::detail
