// A streaming call at its client. docs/design/grpc.md
#pragma once

#include "rubato/detail/grpc/grpc_callback_wait.hpp"
#include "rubato/detail/grpc/grpc_directions.hpp"
#include "rubato/scope.hpp"
#include "rubato/task.hpp"

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/status.h>

#include <cstdlib>
#include <exception>
#include <utility>

namespace rubato::detail {

// Generated methods of the callback API.
template<class Async, class Request, class Reply>
using grpc_server_streams = void (Async::*)(::grpc::ClientContext*, Request const*,
                                            ::grpc::ClientReadReactor<Reply>*);
template<class Async, class Request, class Reply>
using grpc_client_streams = void (Async::*)(::grpc::ClientContext*, Reply*,
                                            ::grpc::ClientWriteReactor<Request>*);
template<class Async, class Request, class Reply>
using grpc_both_stream = void (Async::*)(::grpc::ClientContext*, ::grpc::ClientBidiReactor<Request, Reply>*);

/// The wait for the end of the call, which begins with it. The body is a child of the scope around, and
/// begins when the call has. `Reactor` reads or writes, or both. `Bind`: passes it to the generated method.
template<class Reactor, class Bind, class F>
class grpc_client_stream final : public grpc_callback_wait, public Reactor {
  /// Ends the body's part in the call, at the latest when it is destroyed: with the child, wherever that
  /// ends. By then what the body has begun has ended.
  class part_of_body {
    grpc_client_stream* call_;

    void end(bool has_returned) noexcept { std::exchange(call_, nullptr)->body_has_ended(has_returned); }

  public:
    explicit part_of_body(grpc_client_stream& c) noexcept
        : call_(&c) {}
    part_of_body(part_of_body&& other) noexcept
        : call_(std::exchange(other.call_, nullptr)) {}
    part_of_body& operator=(part_of_body&&) = delete;
    ~part_of_body() {
      if (call_ != nullptr) end(false);
    }
    [[nodiscard]] grpc_client_stream& call() const noexcept { return *call_; }
    void has_returned() noexcept { end(true); }
  };

  scope& within_;
  ::grpc::ClientContext& context_;
  Bind& bind_;
  F& f_;
  std::exception_ptr error_; ///< the body could not be made
  ::grpc::Status status_;

  static rubato::task<void> run(part_of_body part, F& f) {
    auto body = grpc_body(f, static_cast<Reactor&>(part.call()));
    co_await std::move(body);
    part.has_returned();
  }

  [[nodiscard]] bool insert() override {
    bind_(static_cast<Reactor&>(*this));
    this->AddHold(); // the body's: without it gRPC ends the call while the body may still begin a read
    this->StartCall();
    try {
      within_.spawn(run(part_of_body(*this), f_));
    } catch (...) {
      error_ = std::current_exception(); // and the part that was made has ended the call
    }
    return true;
  }
  void cancel() noexcept override { context_.TryCancel(); }

  /// Where the status cannot come by itself, because the server waits for messages, or messages wait to be
  /// read, it ends the writing, or cancels.
  void body_has_ended(bool has_returned) noexcept {
    bool is_cut = !has_returned;
    if constexpr (grpc_reads<Reactor>) is_cut = is_cut || !this->reading().is_over();
    if (is_cut)
      cancel();
    else if constexpr (grpc_writes<Reactor>)
      this->end_writing();
    this->RemoveHold(); // this may be gone afterwards
  }
  void OnDone(::grpc::Status const& s) override {
    status_ = s;
    end_wait();
  }

public:
  grpc_client_stream(scope& s, ::grpc::ClientContext& c, Bind& bind, F& f) noexcept
      : within_(s)
      , context_(c)
      , bind_(bind)
      , f_(f) {}
  ~grpc_client_stream() override { retire(); }

  ::grpc::Status await_resume() {
    end(status_.error_code() == ::grpc::StatusCode::CANCELLED);
    if (error_ != nullptr) std::rethrow_exception(std::move(error_));
    return std::move(status_);
  }
};

template<class Reactor, class Bind, class F>
[[nodiscard]] rubato::task<::grpc::Status> grpc_run_stream(::grpc::ClientContext& context, Bind bind, F f) {
  if constexpr (grpc_fits<void, F, Reactor>())
    return with_async_scope(
        [&context, bind, f = std::move(f)](scope& s) mutable -> rubato::task<::grpc::Status> {
          grpc_client_stream<Reactor, Bind, F> call(s, context, bind, f);
          co_return co_await call;
        });
  else
    std::abort(); // does not compile
}

} // namespace rubato::detail
