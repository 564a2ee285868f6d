// Threads that belong to no pool and wait for a result. They are woken when there may be something to drive.
// docs/design/futures.md
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "sync/parker.hpp"

#include <cstddef>
#include <cstdint>

namespace rubato::detail {

class pool_core;

/// How many pools have no workers, and so are driven by the threads that wait for their work.
inline constinit relaxed<unsigned> workerless_pools;

/// Counts how often a pool has lost its workers: a waiter that sees it change looks anew for what it must
/// drive.
[[nodiscard]] std::uint64_t workers_lost() noexcept;
/// A pool has lost its workers: wakes every thread that waits, in any pool or outside.
void unpark_all_drivers() noexcept;

/// In the list of the process while a thread outside any pool waits.
class listed_outside : list_node<listed_outside> {
  friend class outside_list;
  friend class intrusive_list<listed_outside>;
  pool_core const* const driven_; // never followed: it may be gone
  parker& bell_;

public:
  /// `driven`: the pool without workers that the thread drives when something is ready there; null: none.
  listed_outside(pool_core const* driven, parker& bell) noexcept;
  listed_outside(listed_outside const&) = delete;
  listed_outside& operator=(listed_outside const&) = delete;
  ~listed_outside();
};

/// Something is ready in a pool without workers.
void unpark_outside_drivers(pool_core const& c) noexcept;

/// How many threads outside any pool wait at this moment.
[[nodiscard]] std::size_t waiting_outside() noexcept;

// Around fork(): the child has no other threads.
void lock_outside_waiters() noexcept;
void unlock_outside_waiters() noexcept;
void forget_outside_waiters() noexcept;

} // namespace rubato::detail
