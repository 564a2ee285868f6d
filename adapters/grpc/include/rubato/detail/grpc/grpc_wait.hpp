// A coroutine's wait for a unary call of gRPC's callback API.
#pragma once

#include "rubato/detail/coro/coroutine.hpp"
#include "rubato/detail/grpc/grpc_callback_wait.hpp"

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <functional>
#include <utility>

namespace rubato::detail {

/// What gRPC calls back, on a thread of its own, when it uses neither messages nor context any more.
using grpc_callback = std::function<void(::grpc::Status)>;

/// A generated method of the callback API. The other overload, with a reactor, has another type.
template<class Async, class Request, class Reply>
using grpc_method = void (Async::*)(::grpc::ClientContext*, Request const*, Reply*, grpc_callback);

/// The call begins when the wait does.
template<class Async, class Request, class Reply>
class [[nodiscard("a call begins only when it is awaited: co_await it")]] grpc_wait final
    : public grpc_callback_wait {
  Async& stub_;
  grpc_method<Async, Request, Reply> const method_;
  ::grpc::ClientContext& context_;
  Request const& request_;
  Reply& reply_;
  ::grpc::Status status_;

  [[nodiscard]] bool insert() override {
    // gRPC may call back before this returns, on this thread too: the wait's state expects that.
    (stub_.*method_)(&context_, &request_, &reply_, [this](::grpc::Status s) {
      status_ = std::move(s);
      end_wait();
    });
    return true;
  }
  void cancel() noexcept override { context_.TryCancel(); }

public:
  grpc_wait(Async& stub, grpc_method<Async, Request, Reply> m, ::grpc::ClientContext& c,
            Request const& request, Reply& reply) noexcept
      : stub_(stub)
      , method_(m)
      , context_(c)
      , request_(request)
      , reply_(reply) {}
  /// Only before it is awaited.
  grpc_wait(grpc_wait&& other) noexcept
      : grpc_wait(other.stub_, other.method_, other.context_, other.request_, other.reply_) {}
  grpc_wait& operator=(grpc_wait&&) = delete;
  ~grpc_wait() { retire(); }

  ::grpc::Status await_resume() {
    end(status_.error_code() == ::grpc::StatusCode::CANCELLED);
    return std::move(status_);
  }
};

} // namespace rubato::detail
