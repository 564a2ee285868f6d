// What the pool's templates ask of the library.
#pragma once

#include "rubato/detail/deadline.hpp"
#include "rubato/detail/task.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace rubato::detail {

/// Throws cancelled if the pool ends and threads outside it have queued enough since.
void admit(pool_core& c);
/// The same, and room in a pool with max_queued: waits for it, or refuses.
void acquire_room(pool_core& c);
[[nodiscard]] bool try_acquire_room(pool_core& c) noexcept;
void release_room(pool_core& c) noexcept;

/// Queues a task and wakes a worker if one is wanted. Takes ownership.
void queue(pool_core& c, task* t) noexcept;

/// Leaves the caller's seat to others; null if it has none. come_back() ends it.
[[nodiscard]] void* leave_seat(member& me) noexcept;
void come_back(member& me, void* seat) noexcept;

/// Runs `body(arg, seat number, member)` once per seat and waits; before that, `prepare(arg, number of
/// seats)`.
void broadcast_erased(pool_core& c, void (*prepare)(void*, std::size_t seats),
                      void (*body)(void*, std::size_t seat, member&), void* arg);

/// The number of a seat. Throws std::out_of_range if there is none.
[[nodiscard]] std::uint16_t checked_seat(pool_core& c, unsigned seat);

/// How many workers the pool is to have.
[[nodiscard]] unsigned size_of(pool_core& c) noexcept;
/// The started pool.
[[nodiscard]] pool_core* core_of(pool& p);
/// The current pool, else the global one; for what is to run somewhere.
[[nodiscard]] pool_core* some_core();

} // namespace rubato::detail
