#include "graph/await_run.hpp"

#include "sched/core/pool_core.hpp"
#include "sched/run/search.hpp"
#include "sched/wait/park.hpp"

namespace rubato::detail {

void await_run(thread_context& me, char const* why, bool may_end_elsewhere, function_ref<bool()> done,
               function_ref<steal_result()> steal) noexcept {
  pool_thread& t = thread_of(me);
  using ended_by = waits::ended_by;
  steal_until(t, done, steal, [&] {
    counted_wait const counted(t.core->waits, may_end_elsewhere ? ended_by::outsiders : ended_by::the_pool);
    park_until(t, why, nullptr, done);
  });
}

} // namespace rubato::detail
