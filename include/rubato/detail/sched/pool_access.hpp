// Functions of the library that the pool's templates call.
#pragma once

#include "rubato/detail/base/deadline.hpp"
#include "rubato/detail/work/task.hpp"
#include "rubato/priority.hpp"

#include <cstdint>

namespace rubato::detail {

/// Of a task that was taken out of a queue.
void release_capacity(pool_core& c) noexcept;

/// Queues a task and wakes a worker if needed. Takes ownership. New work makes an `arrival` first.
void queue(pool_core& c, task* t, priority p = priority::normal) noexcept;

/// Leaves the caller's seat to another thread until come_back(). Null: the caller has no seat.
[[nodiscard]] void* leave_seat(thread_context& me) noexcept;
void come_back(thread_context& me, void* seat) noexcept;
/// The caller may block in the kernel on its seat until leave_kernel(): if that lasts, a substitute runs the
/// work that the seat and the thread hide.
void enter_kernel(thread_context& me) noexcept;
void leave_kernel(thread_context& me) noexcept;

/// The number of a seat. Throws std::out_of_range if there is none.
[[nodiscard]] std::uint16_t checked_seat(pool_core& c, unsigned seat);

/// The number of workers that the pool is to have.
[[nodiscard]] unsigned size_of(pool_core& c) noexcept;
/// The pool that free functions use: the caller's own, else the global one.
[[nodiscard]] pool& pool_or_current(pool* p);
/// In the child after fork(): the pool has lost its threads, and starts again with `workers` at its next use.
void lose_core(pool& p, unsigned workers) noexcept;
/// The started pool.
[[nodiscard]] pool_core* core_of(pool& p);
[[nodiscard]] pool& handle_of(pool_core& c) noexcept;
/// The current pool, else the global one, for work that may run on any pool.
[[nodiscard]] pool_core* some_core();

} // namespace rubato::detail
