// The same function once on every seat of a pool.
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <cstddef>

namespace rubato::detail {

/// Runs `body(arg, seat number, thread context)` once per seat and waits; before that, runs `prepare(arg,
/// number of seats)`.
RUBATO_API void broadcast_erased(pool_core& c, void (*prepare)(void*, std::size_t seats),
                                 void (*body)(void*, std::size_t seat, thread_context&), void* arg);
/// The same once on each of the pool's threads, in the order of their numbers. Throws cancelled if the pool
/// is closed, or drops a call.
RUBATO_API void broadcast_to_threads(pool_core& c, void (*prepare)(void*, std::size_t threads),
                                     void (*body)(void*, std::size_t position, thread_context&), void* arg);

} // namespace rubato::detail
