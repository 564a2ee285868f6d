#include "rubato/detail/sched/wait/steal_service.hpp"

#include "sched/core/pool_core.hpp"
#include "sched/run/search.hpp"
#include "sched/wait/park.hpp"

namespace rubato::detail {

void wait_for(thread_context& me, stolen_job& d) noexcept {
  pool_thread& t = thread_of(me);
  auto& runner = thread_of(*d.runner);
  auto const done = [&d] { return d.done(); };
  // Leapfrogging: what the runner forks from here on descends from the stolen job.
  steal_until(
      t, done, [&] { return obtain(*me.core, t, runner, {.descends_from = &d}); },
      [&] {
        if (d.await()) park_until(t, "join", d.runner, done);
      });
}

void run_stolen(latent_job& job, thread_context& runner,
                void (*body)(latent_job&, thread_context&)) noexcept {
  stolen_job& d = static_cast<forked_job&>(job).stolen_job.value;
  {
    token_in_force const token(runner.chain, d.token);
    body(job, runner);
  }
  // Read before: the frame may be gone right after finish().
  auto& owner = thread_of(*d.owner);
  if (d.finish()) owner.parker.unpark();
}

void poll_requests(thread_context& me) noexcept {
  static_cast<void>(me.chain.serve_request(&me));
  me.core->waits.nudge_of_latent(thread_of(me).blocks_on_seat.is_set());
}

void notify_of_latent(thread_context& me) noexcept {
  pool_core& core = *me.core;
  // If no seat is vacant, the thread that vacates one tells the monitor. It need not know of each loop and
  // graph of a busy pool, for it would look all the time while they work. In a pool without workers notify()
  // tells the threads that drive it.
  if (core.idle_threads.has_vacant() || core.size() == 0) notify(core);
}

} // namespace rubato::detail
