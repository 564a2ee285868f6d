// A coroutine's wait that only a callback of gRPC ends. docs/design/grpc.md
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"

namespace rubato::detail {

/// A stop cancels the call, which makes gRPC call back soon. So nothing that is borrowed from the coroutine
/// is used after the wait.
class grpc_callback_wait : public wait_operation {
  relaxed<bool> is_stopped_; // read after retire(), which waits for stop requests that run

  /// Also beside insert(): a context that is cancelled before its call has begun cancels it then.
  [[nodiscard]] bool remove() noexcept final {
    is_stopped_.set(true);
    cancel();
    return false;
  }
  /// Cancels the call. On any thread.
  virtual void cancel() noexcept = 0;

protected:
  grpc_callback_wait() noexcept {
    timed = true; // a drain of the pool cancels it, as it ends waits for sockets
  }
  ~grpc_callback_wait() = default;

  /// From await_resume(): throws cancelled if a stop came before the wait, or before this end of it.
  void end(bool is_end_by_cancel) {
    bool const has_not_begun = retire();
    if (has_not_begun || (is_stopped_.get() && is_end_by_cancel)) throw cancelled();
  }
};

} // namespace rubato::detail
