// Requests that end when the test says so, and the poller's looks: their number, and how long they take.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <utility>

namespace rubato_test {

/// How often this process has called MPI_Testsome().
inline std::atomic<long> looks{0};

/// What MPI orders, which ThreadSanitizer does not see: released before the end of a request, acquired after
/// a test.
inline std::atomic<int> order_of_mpi{0};

/// A generalized request. Any thread ends it, once.
class own_request {
  struct result {
    int tag;
    int code;
  };
  MPI_Request to_end_ = MPI_REQUEST_NULL;

  static int query(void* extra, MPI_Status* s) {
    auto const& r = *static_cast<result*>(extra);
    MPI_Status_set_elements(s, MPI_BYTE, r.tag);
    MPI_Status_set_cancelled(s, 0);
    s->MPI_SOURCE = 0;
    s->MPI_TAG = r.tag;
    s->MPI_ERROR = r.code;
    return r.code;
  }
  static int free_result(void* extra) {
    delete static_cast<result*>(extra);
    return MPI_SUCCESS;
  }
  static int cancel(void* /*extra*/, int /*is_complete*/) { return MPI_SUCCESS; }

public:
  MPI_Request handle = MPI_REQUEST_NULL; ///< to be awaited

  /// Its status will have that tag; `code`: it fails.
  explicit own_request(int tag, int code = MPI_SUCCESS) {
    MPI_Grequest_start(&query, &free_result, &cancel, new result{tag, code}, &handle);
    to_end_ = handle;
  }
  own_request(own_request&& other) noexcept
      : to_end_(std::exchange(other.to_end_, MPI_REQUEST_NULL))
      , handle(std::exchange(other.handle, MPI_REQUEST_NULL)) {}
  /// Of one that has ended.
  own_request& operator=(own_request&& other) noexcept {
    to_end_ = std::exchange(other.to_end_, MPI_REQUEST_NULL);
    handle = std::exchange(other.handle, MPI_REQUEST_NULL);
    return *this;
  }
  ~own_request() = default;

  void end() {
    MPI_Request const r = std::exchange(to_end_, MPI_REQUEST_NULL);
    order_of_mpi.fetch_add(1, std::memory_order_release);
    MPI_Grequest_complete(r); // this may be gone now
  }
};

/// As OpenMPI does: this request fails while another failure is reported, and is freed without a report.
inline std::atomic<own_request*> fails_unreported{nullptr};

/// A message that arrives in parts: its next looks, of which every second one takes longer.
struct moving_message {
  own_request request;
  int looks;
  std::chrono::microseconds longer{20};

  /// Before each look.
  void move() {
    if (looks == 0) return;
    if (--looks % 2 != 0) {
      auto const until = std::chrono::steady_clock::now() + longer;
      while (std::chrono::steady_clock::now() < until) {
      }
    }
    if (looks == 0) request.end();
  }
};
/// Null, or of the one that the only poller of the process tests.
inline std::atomic<moving_message*> moves{nullptr};

} // namespace rubato_test
