#include "sched/run/own_calls.hpp"

#include "sched/core/pool_core.hpp"
#include "sched/run/next_task.hpp"

#include <algorithm>

namespace rubato::detail {

std::vector<pool_thread*> threads_to_call(pool_core& core) {
  static_cast<void>(core.threads.start_missing()); // those that cannot be made get no call
  std::vector<pool_thread*> all = core.threads.that_take_calls();
  std::sort(all.begin(), all.end(),
            [](pool_thread const* a, pool_thread const* b) { return a->index < b->index; });
  return all;
}

void call_on(pool_core& core, pool_thread& t, task& call) noexcept {
  count_armed(core);
  if (core.threads.call(t, call)) return;
  queue(core, &call);
  count_disarmed(core);
}

namespace {

task* next_call(pool_thread& t) noexcept {
  if (t.calls.empty()) return nullptr;
  lock_guard const guard(t.calls);
  return static_cast<task*>(t.calls.pop());
}

} // namespace

bool run_own_calls(pool_core& core, pool_thread& t) noexcept {
  task* call = next_call(t);
  if (call == nullptr) return false;
  core.quiescence.thread_began();
  token_frame none{nullptr}; // a call does not stop with the task in whose wait it runs
  t.chain.enter(none);
  for (; call != nullptr; call = next_call(t)) {
    run_task(core, t, *call);
    count_disarmed(core);
  }
  t.chain.leave();
  return true;
}

} // namespace rubato::detail
