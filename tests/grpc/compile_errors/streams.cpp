// Callables that do not fit the stream are told what would.
#include "echo.grpc.pb.h"

#include <rubato/grpc_stream.hpp>
#include <rubato/rubato.hpp>

#include <grpcpp/grpcpp.h>

using rubato::task, rubato_test::echo, rubato_test::words;

task<void> only_reads(rubato::grpc_reader<words>& in);
task<int> counts(rubato::grpc_reader<words>& in);
task<void> answers_nothing(rubato::grpc_writer<words>& out);

task<void> calls(echo::Stub& stub, grpc::ClientContext& context, words& message) {
  co_await rubato::grpc_stream(stub, &echo::Stub::async::talk, context, &only_reads);
  // error: rubato: grpc_stream() and grpc_handle() call f(reader) where
  co_await rubato::grpc_stream(stub, &echo::Stub::async::list, context, message, &counts);
  // error: rubato: f returns a task<void> for grpc_stream(), and a task<grpc::Status>
}

struct server final : echo::CallbackService {
  grpc::ServerWriteReactor<words>* list(grpc::CallbackServerContext* context, words const*) override {
    return rubato::grpc_handle(rubato::pool::global(), *context, &answers_nothing);
  } // error: rubato: f returns a task<void> for grpc_stream(), and a task<grpc::Status>
  grpc::ServerReadReactor<words>* gather(grpc::CallbackServerContext* context, words*) override {
    return rubato::grpc_handle(rubato::pool::global(), *context, &answers_nothing);
  } // error: rubato: grpc_stream() and grpc_handle() call f(reader) where
};
