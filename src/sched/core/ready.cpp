#include "sched/core/ready.hpp"

#include "rubato/detail/work/child_source.hpp"
#include "work/record_table.hpp"
#include "work/task_queues.hpp"

namespace rubato::detail {

bool any_chain(pool_core const& core, pool_thread const* but) noexcept {
  // In a pool without workers no other thread can be called for the jobs that a sleeping driver has forked.
  bool const all = size_of(core) != 0;
  return records_of(core).find(0, [&](pool_thread& v) {
    return &v != but && v.chain.has_latent() && (all || !v.parker.sleeps());
  }) != nullptr;
}

bool any_child(pool_core const& core) noexcept {
  return child_source::find_child(external_scopes_of(core)) ||
         records_of(core).find(0, [](pool_thread& v) { return child_source::find_child(v); }) != nullptr;
}

bool has_ready(pool_core const& core) noexcept { return queues_of(core).any_shared() || any_child(core); }

bool any_latent(pool_core const& core, pool_thread const* but) noexcept {
  return any_child(core) || queues_of(core).any_lifo_slot().where != nullptr || any_chain(core, but);
}

} // namespace rubato::detail
