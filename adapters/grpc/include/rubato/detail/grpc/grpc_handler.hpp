// A call at a server, which a coroutine of a pool answers.
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/future.hpp"
#include "rubato/task.hpp"
#include "rubato/thread_pool.hpp"

#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <utility>

namespace rubato::detail {

/// `Reactor`: one of gRPC's, or derived from it. gRPC calls OnCancel() and OnDone() only after the method has
/// returned this, and OnDone() last: so start() needs no lock, and the future is used by one thread at a
/// time.
template<class Reactor>
class grpc_handler : public Reactor {
  /// Finishes the call once, at the latest when it is destroyed: with the coroutine that has it, wherever
  /// that ends.
  class finisher {
    grpc_handler* call_;

  public:
    explicit finisher(grpc_handler& h) noexcept
        : call_(&h) {}
    finisher(finisher&& other) noexcept
        : call_(std::exchange(other.call_, nullptr)) {}
    finisher& operator=(finisher&&) = delete;
    ~finisher() {
      if (call_ != nullptr)
        finish(::grpc::Status(::grpc::StatusCode::CANCELLED, "the call was cancelled, or its pool ends"));
    }
    /// The handler may be gone afterwards.
    void finish(::grpc::Status s) { std::exchange(call_, nullptr)->Finish(std::move(s)); }
  };

  future<void> work_; ///< that is dropped when the call is done; empty if nothing was spawned

  template<class F>
  static rubato::task<void> answer(finisher last, F f) {
    ::grpc::Status s;
    try {
      rubato::task<::grpc::Status> body = f();
      s = co_await std::move(body);
    } catch (cancelled const&) {
      co_return; // the finisher's destructor tells
    } catch (...) {
      // Its text is not for clients.
      s = ::grpc::Status(::grpc::StatusCode::UNKNOWN, "an exception has left the handler");
    }
    last.finish(std::move(s));
  }

  void OnCancel() final {
    if (work_.valid()) work_.cancel();
  }
  void OnDone() final { delete this; }

protected:
  virtual ~grpc_handler() = default;

public:
  /// Answers in any case. f() returns the task that answers, and lives until it has ended.
  template<class F>
  void start(pool& p, F f) noexcept {
    try {
      work_ = p.spawn(answer(finisher(*this), std::move(f)));
    } catch (...) {
      // Nothing was spawned: without memory, or because the pool cannot start. The finisher has answered.
    }
  }
};

} // namespace rubato::detail
