#include "rubato/detail/sched/broadcast.hpp"

#include "rubato/detail/future/job.hpp"
#include "rubato/detail/sched/pool_access.hpp"
#include "sched/core/lifecycle.hpp"
#include "sched/worker/await.hpp"
#include "sched/worker/pool_thread.hpp"

#include <vector>

namespace rubato::detail {

namespace {

using body_type = void (*)(void* arg, std::size_t seat, thread_context& me);

/// The call for one seat.
struct copy {
  body_type body;
  void* arg;
  std::size_t seat;
  void operator()() const { body(arg, seat, *current); }
};

void broadcast(pool_core& core, void (*prepare)(void*, std::size_t), body_type body, void* arg) {
  pool_thread& me = thread_of(*current);
  std::vector<state_ref> copies;
  {
    auto const held = life_of(core).hold(); // a snapshot: no seat opens or closes meanwhile
    std::size_t const n = size_of(core);
    prepare(arg, n);
    copies.reserve(n);
    for (std::size_t i = 0; i != n; ++i) {
      copies.emplace_back(make_in_slab<value_job<copy>>(2U, nullptr, copy{body, arg, i}));
      copies.back()->seat.set(static_cast<std::uint16_t>(i));
    }
    for (state_ref const& c : copies) spawn_state(core, *c.get());
  }
  // A worker runs the copy for its own seat before it waits and leaves the seat. A guest leaves its seat to a
  // worker, which runs that seat's copy.
  seat const* const own = me.worker.load(std::memory_order_relaxed) ? me.sits_on() : nullptr;
  if (own != nullptr && own->index < copies.size())
    static_cast<void>(run_in_place(core, me, *copies[own->index].get(), true));
  for (std::size_t i = 0; i != copies.size(); ++i) {
    copies[i]->wait_to_end("broadcast");
    if (copies[i]->has_failed()) body(arg, i, me); // the pool has discarded it
  }
}

} // namespace

void broadcast_erased(pool_core& c, void (*prepare)(void*, std::size_t seats),
                      void (*body)(void*, std::size_t seat, thread_context&), void* arg) {
  on_pool(&handle_of(c), [&](thread_context&) { broadcast(c, prepare, body, arg); });
}

} // namespace rubato::detail
