// A streaming call at a server, which a coroutine of a pool answers. docs/design/grpc.md
#pragma once

#include "rubato/detail/grpc/grpc_directions.hpp"
#include "rubato/detail/grpc/grpc_handler.hpp"
#include "rubato/thread_pool.hpp"

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <cstdlib>
#include <utility>

namespace rubato::detail {

/// `Reactor` reads or writes, or both.
template<class Reactor>
class grpc_server_stream final : public grpc_handler<Reactor> {
  ::grpc::CallbackServerContext& context_;

  void cancel() noexcept override { context_.TryCancel(); }

public:
  explicit grpc_server_stream(::grpc::CallbackServerContext& c) noexcept
      : context_(c) {}
};

/// What grpc_handle() returns. It becomes the reactor that the method returns, whose type tells the
/// messages'.
template<class F>
class [[nodiscard("the method of the service returns it")]] grpc_stream_answer {
  pool& pool_;
  ::grpc::CallbackServerContext& context_;
  F f_;

  template<class Reactor>
  [[nodiscard]] Reactor* start() {
    if constexpr (grpc_fits<::grpc::Status, F, Reactor>()) {
      auto* const made = new grpc_server_stream<Reactor>(context_);
      Reactor& r = *made;
      made->start(pool_, [&r, f = std::move(f_)]() mutable { return grpc_body(f, r); });
      return made;
    } else
      std::abort(); // does not compile
  }

public:
  grpc_stream_answer(pool& p, ::grpc::CallbackServerContext& c, F f)
      : pool_(p)
      , context_(c)
      , f_(std::move(f)) {}

  template<class In>
  operator ::grpc::ServerReadReactor<In>*() && { // NOLINT(google-explicit-constructor)
    return start<grpc_reading<::grpc::ServerReadReactor<In>, In>>();
  }
  template<class Out>
  operator ::grpc::ServerWriteReactor<Out>*() && { // NOLINT(google-explicit-constructor)
    return start<grpc_writing<::grpc::ServerWriteReactor<Out>, Out>>();
  }
  template<class In, class Out>
  operator ::grpc::ServerBidiReactor<In, Out>*() && { // NOLINT(google-explicit-constructor)
    return start<grpc_writing<grpc_reading<::grpc::ServerBidiReactor<In, Out>, In>, Out>>();
  }
};

} // namespace rubato::detail
