// A call at a server, which a coroutine of a pool answers.
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/future.hpp"
#include "rubato/task.hpp"
#include "rubato/thread_pool.hpp"

#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <optional>
#include <utility>

namespace rubato::detail {

/// `Reactor`: one of gRPC's, or derived from it. gRPC calls OnCancel() and OnDone() only after the method has
/// returned this, and OnDone() last: so start() needs no lock, and the future is used by one thread at a
/// time.
template<class Reactor>
class grpc_handler : public Reactor {
  /// Finishes the call when it is destroyed, wherever that is.
  class finisher {
    grpc_handler* call_;
    std::optional<::grpc::Status> status_;

  public:
    explicit finisher(grpc_handler& h) noexcept
        : call_(&h) {}
    finisher(finisher&& other) noexcept
        : call_(std::exchange(other.call_, nullptr))
        , status_(std::move(other.status_)) {}
    finisher& operator=(finisher&&) = delete;
    ~finisher() {
      if (call_ == nullptr) return;
      if (!status_.has_value())
        status_.emplace(::grpc::StatusCode::CANCELLED, "the call was cancelled, or its pool ends");
      call_->Finish(std::move(*status_)); // the handler may be gone afterwards
    }
    void set(::grpc::Status s) { status_.emplace(std::move(s)); }
  };

  /// What the coroutine has. The finisher goes last, because gRPC may destroy the messages then. Two
  /// parameters would not do: g++ 12 destroys the first one first.
  template<class F>
  class parts {
    finisher last_;
    F f_;

  public:
    parts(grpc_handler& h, F&& f)
        : last_(h)
        , f_(std::move(f)) {}
    [[nodiscard]] rubato::task<::grpc::Status> begin() { return f_(); }
    [[nodiscard]] finisher& last() noexcept { return last_; }
  };

  future<void> work_; ///< that is dropped when the call is done; empty if nothing was spawned

  template<class F>
  static rubato::task<void> answer(parts<F> p) {
    try {
      rubato::task<::grpc::Status> body = p.begin();
      ::grpc::Status s = co_await std::move(body);
      p.last().set(std::move(s));
    } catch (cancelled const&) { // the finisher's destructor tells
    } catch (...) {
      // Its text is not for clients.
      p.last().set(::grpc::Status(::grpc::StatusCode::UNKNOWN, "an exception has left the handler"));
    }
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
      work_ = p.spawn(answer(parts<F>(*this, std::move(f))));
    } catch (...) {
      // Nothing was spawned: without memory, or because the pool cannot start. The finisher has answered.
    }
  }
};

} // namespace rubato::detail
