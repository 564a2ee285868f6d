// One direction of a stream of gRPC: reads, or writes, one at a time. docs/design/grpc.md
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/grpc/grpc_callback_wait.hpp"

#include <utility>

namespace rubato::detail {

/// The wait of a coroutine for one read or write.
class grpc_step : public grpc_callback_wait {
  bool ok_ = false;

protected:
  grpc_step() = default;
  ~grpc_step() = default;

public:
  /// For gRPC's callback. The last access to it.
  void ended(bool ok) noexcept {
    ok_ = ok;
    end_wait();
  }
  /// False: there is no further message, or the call is over.
  bool await_resume() {
    end(!ok_);
    return ok_;
  }
};

/// Of the two threads that use it in turn, the coroutine's is ordered before gRPC's by the start of the
/// operation, and after it by the end of the wait. So nothing is atomic.
class grpc_flow {
  grpc_step* in_flight_ = nullptr; ///< null: nothing is, or what nothing awaits
  bool is_over_ = false;           ///< nothing more may be started

public:
  grpc_flow() = default;
  grpc_flow(grpc_flow const&) = delete;
  grpc_flow& operator=(grpc_flow const&) = delete;

  /// For the coroutine. False: the flow is over.
  template<class Start>
  [[nodiscard]] bool begin(grpc_step* s, Start const& start, bool is_last) {
    RUBATO_ASSERT_STEP(in_flight_ == nullptr, "a second read, or write, begins beside the first", in_flight_);
    if (is_over_) return false;
    is_over_ = is_last;
    in_flight_ = s;
    start(); // gRPC may call back before this returns
    return true;
  }
  /// For gRPC's callback.
  void ended(bool ok) noexcept {
    is_over_ = is_over_ || !ok;
    if (grpc_step* const s = std::exchange(in_flight_, nullptr)) s->ended(ok);
  }
  /// For the coroutine, while nothing is in flight.
  [[nodiscard]] bool is_over() const noexcept { return is_over_; }
  /// Cancels the call. On any thread.
  virtual void cancel() noexcept = 0;

protected:
  ~grpc_flow() = default;
};

/// `Start` is called as start(), and passes the operation to gRPC.
template<class Start>
class [[nodiscard("a read or write begins only when it is awaited: co_await it")]] grpc_step_of final
    : public grpc_step {
  grpc_flow& flow_;
  Start const start_;
  bool const is_last_;

  [[nodiscard]] bool insert() override { return flow_.begin(this, start_, is_last_); }
  void cancel() noexcept override { flow_.cancel(); }

public:
  /// is_last: nothing may follow it.
  grpc_step_of(grpc_flow& f, Start s, bool is_last) noexcept
      : flow_(f)
      , start_(std::move(s))
      , is_last_(is_last) {}
  /// Only before it is awaited.
  grpc_step_of(grpc_step_of&& other) noexcept
      : grpc_step_of(other.flow_, other.start_, other.is_last_) {}
  grpc_step_of& operator=(grpc_step_of&&) = delete;
  ~grpc_step_of() { this->retire(); }
};

} // namespace rubato::detail
