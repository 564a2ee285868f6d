// A unary call at a server, which a coroutine of a pool answers.
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/future.hpp"
#include "rubato/task.hpp"
#include "rubato/thread_pool.hpp"

#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <utility>

namespace rubato::detail {

/// gRPC calls OnCancel() and OnDone() only after the method has returned this, and OnDone() last: so start()
/// needs no lock, and the future is used by one thread at a time.
class grpc_handler final : public ::grpc::ServerUnaryReactor {
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

  future<void> work_; ///< that is dropped when the call is done

  static rubato::task<void> answer(finisher f, rubato::task<::grpc::Status> t) {
    ::grpc::Status s;
    try {
      s = co_await std::move(t);
    } catch (cancelled const&) {
      co_return; // f's destructor tells
    } catch (...) {
      // Its text is not for clients.
      s = ::grpc::Status(::grpc::StatusCode::UNKNOWN, "an exception has left the handler");
    }
    f.finish(std::move(s));
  }

  void OnCancel() override { work_.cancel(); }
  void OnDone() override { delete this; }

public:
  /// Answers in any case.
  void start(pool& p, rubato::task<::grpc::Status> t) noexcept {
    try {
      work_ = p.spawn(answer(finisher(*this), std::move(t)));
    } catch (...) {
      // Nothing was spawned: without memory, or because the pool cannot start. The finisher has answered.
    }
  }
};

} // namespace rubato::detail
