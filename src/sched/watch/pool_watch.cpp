#include "sched/watch/pool_watch.hpp"

#include "sched/core/pool_core.hpp"
#include "sched/core/ready.hpp"
#include "sched/watch/backlog_watch.hpp"
#include "sched/watch/stall_watch.hpp"

namespace rubato::detail {

void arm_poll_all(pool_core& core) noexcept {
  core.threads.records.for_each([](pool_thread& t) { t.chain.arm_poll(); });
}

/// Sequentially consistent: see nudge_monitor().
bool wants_attention(pool_core& core, bool later) noexcept {
  if (core.idle_threads.active() == 0) return false;
  if (later && (core.queues.any_queued() || backlog_watch(core).any_hidden() ||
                core.queues.any_lifo_slot().where != nullptr ||
                (core.waits.is_stuck() && core.notes.stall_epoch != core.waits.epoch())))
    return true;
  return core.idle_threads.has_vacant() && any_latent(core);
}

std::uint64_t moved_work(pool_core& core) noexcept {
  std::uint64_t sum = 0;
  core.threads.records.for_each([&sum](pool_thread& t) {
    for (counted const c : {counted::handed, counted::taken, counted::stolen}) sum += t.counts[c];
  });
  return sum;
}

attention inspect(pool_core& core, os::ticks now) noexcept {
  attention result;
  if (core.idle_threads.active() == 0) {
    core.notes.latent_seen = false;
    return result;
  }
  result.busy = true;
  // One thread is busy and another sleeps. Latent work that is there at two looks in a row is not short.
  if (core.idle_threads.has_vacant()) {
    result.latent = any_latent(core);
    if (result.latent && core.notes.latent_seen) core.unpark_worker();
    core.notes.latent_seen = result.latent;
  }
  backlog_watch queued(core);
  stall_watch stalls(core);
  if (core.queues.any_queued() || core.queues.any_lifo_slot().where != nullptr || queued.any_hidden()) {
    result.queued = true;
    stalls.look_for_jam(now); // first: look() may wake the waiters in vain, in not_launched()
    if (core.size() != 0) queued.look(now);
  } else {
    core.notes.queues_noted = 0;
    core.notes.jammed_since = 0;
  }
  if (stalls.look_for_stall()) result.queued = true; // look again
  return result;
}

} // namespace rubato::detail
