// MPI beside a pool: coroutines wait for nonblocking operations, while their worker runs other tasks.
//
//   #include <rubato/mpi.hpp>
//   #include <rubato/spawn.hpp>
//   #include <cstdio>
//
//   rubato::task<int> sum_over_ranks(int mine) {
//     int sum = 0;
//     MPI_Request r;
//     MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
//     co_await rubato::mpi::done(r); // its worker runs other tasks meanwhile
//     co_return sum;
//   }
//   int main() {
//     rubato::mpi::session mpi;
//     std::printf("%d\n", rubato::block_on(sum_over_ranks(7)) / mpi.size()); // -> 7
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/task.hpp"

#include <mpi.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

namespace rubato::mpi {

/// A request has failed, or MPI lacks what this adapter needs. By default MPI ends the program instead: set
/// MPI_ERRORS_RETURN as the error handler of the communicator.
class error : public std::runtime_error {
  int code_;

  [[nodiscard]] static std::string text_of(int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
    return "rubato: MPI: " + std::string(text, static_cast<std::size_t>(length));
  }

public:
  explicit error(int code)
      : error(code, text_of(code)) {}
  error(int code, std::string const& what)
      : std::runtime_error(what)
      , code_(code) {}
  /// As MPI returned it; MPI_Error_class() has the class.
  [[nodiscard]] int code() const noexcept { return code_; }
};

/// Initialises MPI with MPI_THREAD_MULTIPLE, which this adapter needs, and finalises it in the destructor.
/// One per process, made and destroyed by the same thread. It outlives all requests, and the tasks that await
/// them. A program may call MPI_Init_thread() and MPI_Finalize() itself instead.
class session {
  int rank_ = 0;
  int size_ = 1;

public:
  /// The arguments of main(), or none. Throws error if MPI does not offer MPI_THREAD_MULTIPLE.
  explicit session(int* argc = nullptr, char*** argv = nullptr) {
    int provided = MPI_THREAD_SINGLE;
    if (int const code = MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided); code != MPI_SUCCESS)
      throw error(code);
    if (provided != MPI_THREAD_MULTIPLE) {
      MPI_Finalize();
      throw error(MPI_ERR_OTHER, "rubato: this MPI does not offer MPI_THREAD_MULTIPLE");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  session(session const&) = delete;
  session& operator=(session const&) = delete;
  ~session() { MPI_Finalize(); }

  /// This process's number in MPI_COMM_WORLD, below size().
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
};

/// A request that first_done() has found.
struct ended_request {
  std::size_t index; ///< in the span
  /// Its MPI_ERROR is MPI_SUCCESS, or the code with which the request has failed.
  MPI_Status status;
};

} // namespace rubato::mpi

#include "rubato/detail/mpi/mpi_done.hpp" // which needs these

namespace rubato::mpi {

/// co_await done(request): waits until the request has ended, as MPI_Wait() does, and yields its status. The
/// worker runs other tasks meanwhile. Then the handle is MPI_REQUEST_NULL, or, if the request is persistent,
/// inactive. A null or inactive handle has ended. Until the wait is over, no thread may use the handle, and
/// handle and buffers must live.
///
/// Throws error if the request fails, if MPI is not initialised, or if it lacks MPI_THREAD_MULTIPLE; and
/// std::bad_alloc, after which the request is still pending.
///
/// Neither a stop of the task nor the end of its pool ends the wait, because MPI would go on using the
/// buffers: with_deadline(done(request), t) ends when the request does. Only in coroutines of Rubato.
///
/// As long as a request is pending, one task of the pool tests all of them at the boundaries between tasks:
/// at each one for the first millisecond, then with sleeps of an eighth of the time waited so far, 2 ms at
/// most. So a worker should reach a boundary often: MPI makes progress only in its own calls. Without a
/// pending request nothing polls. Source: MPI 4.0, sections 3.7.3 and 3.7.5.
[[nodiscard]] inline detail::mpi_done_one done(MPI_Request& request) noexcept {
  return detail::mpi_done_one(request);
}
void done(MPI_Request&& request) = delete; // its handle must live

/// co_await done(requests): waits until all have ended, as MPI_Waitall() does, and yields their statuses in
/// order. If some fail, it throws the error of the first of them in order, after all have ended. Otherwise as
/// done(request). O(requests) at each test.
[[nodiscard]] inline detail::mpi_done_all done(std::span<MPI_Request> requests) noexcept {
  return detail::mpi_done_all(requests);
}

/// co_await first_done(requests): waits until at least one has ended, as MPI_Waitsome() does, and yields all
/// that were found at that moment. None are yielded if no request is active. A request that has failed has
/// its code in status.MPI_ERROR. The other requests stay as they are. Otherwise as done(request).
[[nodiscard]] inline detail::mpi_first_done first_done(std::span<MPI_Request> requests) noexcept {
  return detail::mpi_first_done(requests);
}

} // namespace rubato::mpi
