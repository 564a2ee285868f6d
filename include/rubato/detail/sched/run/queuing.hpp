// How work that is ready gets into a queue of its pool. docs/design/futures.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/work/future_state.hpp"
#include "rubato/detail/work/pool_port.hpp"

#include <cstdint>

namespace rubato::detail {

/// Queues a new job on the pool.
RUBATO_API void spawn_state(pool_core& c, future_state& s) noexcept;
/// Gives a new job that priority, and queues it.
inline void spawn_state(pool_core& c, future_state& s, priority p) noexcept {
  s.queued.set_priority(p);
  spawn_state(c, s);
}
/// The number of a seat. Throws std::out_of_range if there is none.
[[nodiscard]] RUBATO_API std::uint16_t checked_seat(pool_core& c, unsigned seat);
/// Queues a task on the calling thread's pool, else on the pool `made_at`, else on the global pool; if no
/// pool can take it, runs it at once.
RUBATO_API void queue_near(task& t, pool_core* made_at) noexcept;
/// Calls end(s) even if a pool discards its tasks: in a task of the calling thread's pool, else of the
/// state's; at once, if there is no memory.
RUBATO_API void end_later(future_state& s, void (*end)(future_state&) noexcept) noexcept;

} // namespace rubato::detail
