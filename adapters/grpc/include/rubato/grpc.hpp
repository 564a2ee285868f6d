// gRPC beside a pool: coroutines await calls and answer them, with gRPC's callback API.
//
//   #include "echo.grpc.pb.h" // service echo { rpc say(words) returns (words); }
//   #include <rubato/grpc.hpp>
//   #include <rubato/spawn.hpp>
//   #include <cstdio>
//
//   using rubato_test::echo, rubato_test::words;
//   rubato::task<bool> answers(echo::Stub& stub) {
//     grpc::ClientContext context;
//     words question, answer;
//     auto const s = co_await rubato::grpc_call(stub, &echo::Stub::async::say, context, question, answer);
//     co_return s.error_code() != grpc::StatusCode::UNAVAILABLE;
//   }
//   int main() {
//     auto const channel = grpc::CreateChannel("unix:/no/server", grpc::InsecureChannelCredentials());
//     std::puts(rubato::block_on(answers(*echo::NewStub(channel))) ? "yes" : "no server"); // -> no server
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/grpc/grpc_handler.hpp"
#include "rubato/detail/grpc/grpc_wait.hpp"
#include "rubato/task.hpp"
#include "rubato/thread_pool.hpp"

#include <grpcpp/grpcpp.h>

#include <type_traits>
#include <utility>

namespace rubato {

/// `co_await grpc_call(stub, &service::Stub::async::method, context, request, reply)` makes a unary call, and
/// yields its grpc::Status, whatever that is. The worker runs other tasks meanwhile. `stub` is a generated
/// stub, and the method one of those that stub.async() has. The call begins when it is awaited. Stub,
/// context, request and reply must live until the wait is over, and a context serves one call, as always with
/// gRPC.
///
/// A stop of the awaiting task (of its scope, by a lost race or hedge, by with_deadline(), by a
/// drain of its pool) cancels the call as grpc::ClientContext::TryCancel() does. The wait ends when gRPC has
/// ended the call: afterwards nothing uses the messages. It throws cancelled then, unless the call had ended
/// with another status. If the task was stopped before, it throws cancelled, and nothing is sent. A deadline
/// of the context is gRPC's: the status is DEADLINE_EXCEEDED, and the server learns of it.
///
/// Throws std::bad_alloc. Only in coroutines of Rubato.
template<class Stub, class Async, class Request, class Reply>
[[nodiscard]] auto grpc_call(Stub& stub, detail::grpc_method<Async, Request, Reply> method,
                             ::grpc::ClientContext& context, std::type_identity_t<Request> const& request,
                             std::type_identity_t<Reply>& reply) {
  return detail::grpc_wait<Async, Request, Reply>(*stub.async(), method, context, request, reply);
}

/// For a method of a generated CallbackService: `return grpc_handle(pool, answer(*request, *reply));` lets
/// the task answer the call. It begins on a worker of the pool, never in this call, and its status is the
/// answer's. Request, reply and context live until it has ended. The pool must live until the server is shut
/// down and grpc::Server::Wait() has returned.
///
/// If the client cancels, its deadline passes, the connection breaks, or the server is shut down, the task is
/// stopped: its waits end with `cancelled`, and so do the calls that it awaits at other servers. The answer
/// is CANCELLED if the task ends with `cancelled`, or does not begin because it was stopped before, or
/// because the pool was shut down. It is UNKNOWN, without the exception's text, if the task throws another
/// exception. Thread-safe. Throws std::bad_alloc.
[[nodiscard]] inline ::grpc::ServerUnaryReactor* grpc_handle(pool& p, task<::grpc::Status> answer) {
  auto* const made = new detail::grpc_handler<::grpc::ServerUnaryReactor>();
  made->start(p, [t = std::move(answer)]() mutable { return std::move(t); });
  return made;
}

} // namespace rubato
