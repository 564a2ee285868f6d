#include "rubato/detail/sched/wait/blocking_region.hpp"

#include "rubato/detail/trace/note.hpp"
#include "sched/core/pool_core.hpp"
#include "sched/wait/park.hpp"
#include "timer/nudge_monitor.hpp"

namespace rubato::detail {

namespace {
constexpr char const reason[] = "blocking"; // for the trace
}

void enter_kernel(thread_context& me) noexcept {
  note<event_kind::wait>(&reason);
  for (thread_context* m = &me; m->core != nullptr; m = thread_of(*m).outer) {
    pool_thread& t = thread_of(*m);
    t.blocks_on_seat.enter();
    t.chain.arm_poll(); // poll_requests() tells of what it forks or spawns meanwhile
    if (hides_work(*m->core, t)) nudge_monitor();
  }
}

void leave_kernel(thread_context& me) noexcept {
  for (thread_context* m = &me; m->core != nullptr; m = thread_of(*m).outer)
    thread_of(*m).blocks_on_seat.leave();
  note<event_kind::wait_over>(&reason);
}

void* leave_seat(thread_context& me) noexcept {
  note<event_kind::wait>(&reason);
  return leave_seats(thread_of(me));
}

void come_back(thread_context& me, void* s) noexcept {
  return_to_seats(thread_of(me), static_cast<seat*>(s));
  note<event_kind::wait_over>(&reason);
}

} // namespace rubato::detail
