#include "work/record_table.hpp"

namespace rubato::detail {

void record_table::list(pool_thread& t) noexcept {
  groups_[t.index / width].in_use.fetch_or(bit_of(t.index), std::memory_order_seq_cst); // pairs with find()
}

void record_table::unlist(pool_thread& t) noexcept {
  // relaxed: a search that still visits the record finds nothing there.
  groups_[t.index / width].in_use.fetch_and(~bit_of(t.index), std::memory_order_relaxed);
}

unsigned record_table::boundaries_of_all_but(pool_thread const* t) const noexcept {
  unsigned n = 0;
  for_each_known([&](pool_thread const& other) {
    if (&other != t) n += other.boundaries.get();
  });
  return n;
}

void record_table::publish(pool_thread& t) noexcept {
  groups_[t.index / width].records[t.index % width].publish(&t);
  known_.publish(t.index + 1);
}

void record_table::enter(pool_thread& t) noexcept {
  lock_guard const guard(t.scopes_mutex);
  t.departed = false;
  list(t);
}

void record_table::leave(pool_thread& t) noexcept {
  lock_guard const guard(t.scopes_mutex);
  t.departed = true;
  if (t.open_scopes.peek() == 0) unlist(t);
}

} // namespace rubato::detail
