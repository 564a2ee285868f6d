// A coroutine's wait for requests of MPI. docs/design/mpi.md
#pragma once

#include "rubato/detail/coro/coroutine_task.hpp"

#include <mpi.h>

#include <cstddef>

namespace rubato::detail {

/// Lives in the coroutine's frame. The poller of the coroutine's pool tests the requests and ends the wait: a
/// stop does not, and neither does the end of the pool, because MPI still uses the buffers.
class mpi_wait : public wait_operation {
  friend class mpi_poller;
  friend class mpi_pollers;
  mpi_wait* next_ = nullptr; ///< of those that have arrived, or that are over
  bool is_over_ = false;     ///< for the poller

  [[nodiscard]] bool insert() final; // throws std::bad_alloc
  [[nodiscard]] bool remove() noexcept final { return false; }

  // For the poller. `i`: below the number of requests.

  [[nodiscard]] virtual std::size_t number() const noexcept = 0;
  /// Null: that request had ended before the wait began.
  [[nodiscard]] virtual MPI_Request const* pending(std::size_t i) const noexcept = 0;
  /// Request i has ended with `code`, and its handle is `now`. True: the wait is over.
  [[nodiscard]] virtual bool end(std::size_t i, MPI_Request now, MPI_Status const& s, int code) noexcept = 0;

protected:
  mpi_wait() noexcept
      : wait_operation(ends::with_children) {}
  ~mpi_wait() = default;
};

} // namespace rubato::detail
