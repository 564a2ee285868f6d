// Streams of gRPC beside a pool: coroutines read and write them.
//
//   #include "echo.grpc.pb.h" // service echo { rpc gather(stream words) returns (words); }
//   #include <rubato/grpc_stream.hpp>
//   #include <rubato/spawn.hpp>
//   #include <grpcpp/grpcpp.h>
//   #include <cstdio>
//
//   using rubato_test::echo, rubato_test::words;
//   rubato::task<void> say(rubato::grpc_client_writer<words>& out) { co_await out.write(words()); }
//   int main() {
//     auto const stub = echo::NewStub(grpc::CreateChannel("unix:/none", grpc::InsecureChannelCredentials()));
//     grpc::ClientContext context;
//     words answer;
//     auto call = rubato::grpc_stream(*stub, &echo::Stub::async::gather, context, answer, &say);
//     std::puts(rubato::block_on(std::move(call)).ok() ? "yes" : "no server"); // -> no server
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/grpc/grpc_client_stream.hpp"
#include "rubato/detail/grpc/grpc_server_stream.hpp"
#include "rubato/grpc_reader.hpp" // IWYU pragma: export
#include "rubato/task.hpp"
#include "rubato/thread_pool.hpp"

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/server_callback.h>

#include <type_traits>
#include <utility>

namespace rubato {

/// `co_await grpc_stream(stub, &service::Stub::async::method, context, request, f)` makes a call whose answer
/// is a stream of messages, and yields its grpc::Status, whatever that is. f(grpc_reader<Reply>&) returns a
/// task<void>, which reads. It is a child task of the awaiting one, and begins when the call has. `stub`,
/// `method` and `context` are as in grpc_call(). Stub, context and request must live until the end; f is
/// decay-copied.
///
/// The end: the await ends when f's task has ended and gRPC has ended the call, so nothing is left running.
/// A task that returns before read() has yielded false cancels the call: the status is CANCELLED. If an
/// exception leaves it, the call is cancelled, and the await throws that exception. A stop of the awaiting
/// task cancels the call, whatever f's task does at that moment, and stops that task: the await throws
/// `cancelled`, unless the call had ended with another status. If the task was stopped before, nothing is
/// sent.
///
/// Throws std::bad_alloc. Only in coroutines of Rubato. docs/design/grpc.md
template<class Stub, class Async, class Request, class Reply, class F>
[[nodiscard]] auto grpc_stream(Stub& stub, detail::grpc_server_streams<Async, Request, Reply> method,
                               ::grpc::ClientContext& context, std::type_identity_t<Request> const& request,
                               F&& f) {
  using reactor = detail::grpc_reading<::grpc::ClientReadReactor<Reply>, Reply>;
  Async* const async = stub.async();
  auto const bind = [async, method, &context, &request](::grpc::ClientReadReactor<Reply>& r) {
    (async->*method)(&context, &request, &r);
  };
  return detail::grpc_run_stream<reactor>(context, bind, std::decay_t<F>(std::forward<F>(f)));
}

/// The same for a stream of requests, `grpc_stream(stub, method, context, reply, f)` with
/// f(grpc_client_writer<Request>&). A task that returns has written all its messages, and the await waits for
/// the server's reply.
template<class Stub, class Async, class Request, class Reply, class F>
[[nodiscard]] auto grpc_stream(Stub& stub, detail::grpc_client_streams<Async, Request, Reply> method,
                               ::grpc::ClientContext& context, std::type_identity_t<Reply>& reply, F&& f) {
  using reactor = detail::grpc_client_writing<::grpc::ClientWriteReactor<Request>, Request>;
  Async* const async = stub.async();
  auto const bind = [async, method, &context, &reply](::grpc::ClientWriteReactor<Request>& r) {
    (async->*method)(&context, &reply, &r);
  };
  return detail::grpc_run_stream<reactor>(context, bind, std::decay_t<F>(std::forward<F>(f)));
}

/// The same for both streams, `grpc_stream(stub, method, context, f)` with f(grpc_reader<Reply>&,
/// grpc_client_writer<Request>&). One task may read while another one writes: spawn both in a scope. A task
/// that returns before read() has yielded false cancels the call.
template<class Stub, class Async, class Request, class Reply, class F>
[[nodiscard]] auto grpc_stream(Stub& stub, detail::grpc_both_stream<Async, Request, Reply> method,
                               ::grpc::ClientContext& context, F&& f) {
  using reading = detail::grpc_reading<::grpc::ClientBidiReactor<Request, Reply>, Reply>;
  using reactor = detail::grpc_client_writing<reading, Request>;
  Async* const async = stub.async();
  auto const bind = [async, method, &context](::grpc::ClientBidiReactor<Request, Reply>& r) {
    (async->*method)(&context, &r);
  };
  return detail::grpc_run_stream<reactor>(context, bind, std::decay_t<F>(std::forward<F>(f)));
}

/// For a method of a generated CallbackService with streams: `return grpc_handle(pool, *context, f);` lets
/// the task answer the call that f returns. By the method's kind f is called as f(grpc_reader<Request>&),
/// f(grpc_writer<Reply>&) or f(grpc_reader<Request>&, grpc_writer<Reply>&), on a worker of the pool, and
/// returns a task<grpc::Status>. f is decay-copied, and lives until the task has ended, as do request and
/// reply. The task need not read everything. Stops, the end of the pool and exceptions are as in
/// grpc_handle() for a call without streams. Thread-safe. Throws std::bad_alloc.
template<class F>
[[nodiscard]] auto grpc_handle(pool& p, ::grpc::CallbackServerContext& context, F&& f) {
  return detail::grpc_stream_answer<std::decay_t<F>>(p, context, std::forward<F>(f));
}

} // namespace rubato
