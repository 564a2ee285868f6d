// A server of tests, whose answer the request names, and what asks it.
#pragma once

#include "echo.grpc.pb.h"

#include "support/pools.hpp"

#include <rubato/grpc.hpp>
#include <rubato/rubato.hpp>

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace rubato_test {

/// Listens at a port of its own on the loopback interface. It answers a request with its text, except:
/// "wait" waits for open(), "fail" gives OUT_OF_RANGE, "throw" throws, "ask" asks `behind` to wait, and
/// "gone" keeps gRPC's thread until the client has cancelled.
class echo_server : public echo::CallbackService {
protected:
  rubato::pool& pool_;
  rubato::event open_;

private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;

  grpc::ServerUnaryReactor* say(grpc::CallbackServerContext* context, words const* asked,
                                words* answer) override {
    ++arrived;
    while (asked->text() == "gone" && !context->IsCancelled())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return rubato::grpc_handle(pool_, reply(*this, *asked, *answer));
  }
  static rubato::task<grpc::Status> reply(echo_server& self, words const& asked, words& answer) {
    ++self.begun;
    if (asked.text() == "fail") co_return grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "as asked");
    if (asked.text() == "throw") throw std::runtime_error("not for clients");
    grpc::Status s = grpc::Status::OK;
    try {
      if (asked.text() == "wait") co_await self.open_.wait();
      if (asked.text() == "ask") {
        grpc::ClientContext context;
        words question;
        question.set_text("wait");
        s = co_await rubato::grpc_call(*self.behind, &echo::Stub::async::say, context, question, answer);
      }
    } catch (rubato::cancelled const&) {
      ++self.stopped;
      throw;
    }
    answer.set_text(asked.text());
    co_return s;
  }

public:
  std::atomic<int> arrived{0};           ///< calls
  std::atomic<int> begun{0}, stopped{0}; ///< handlers that have begun; waits in them that a stop has ended
  std::unique_ptr<echo::Stub> behind;

  explicit echo_server(rubato::pool& p)
      : pool_(p) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) throw std::runtime_error("no port for a server");
  }
  ~echo_server() override { shut_down(); }

  void open() { open_.set(); }
  /// Stops the handlers, and waits until they have ended.
  void shut_down() {
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }
  /// With a connection of its own.
  [[nodiscard]] std::unique_ptr<echo::Stub> stub() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return echo::NewStub(grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_),
                                                   grpc::InsecureChannelCredentials(), arguments));
  }
};

/// A pool of the clients, and a server with one of its own.
template<class Server>
struct beside_server : on_workers {
  rubato::pool served{2};
  Server server{served};
  std::unique_ptr<echo::Stub> const stub = server.stub();
};

/// What became of a call.
struct answered {
  grpc::Status status;
  std::string text;
  answered(grpc::Status s, std::string t)
      : status(std::move(s))
      , text(std::move(t)) {}
};

/// The messages are in its frame: they are gone if anything of gRPC uses them after the wait.
inline rubato::task<answered> ask(echo::Stub& stub, std::string text) {
  grpc::ClientContext context;
  words question, answer;
  question.set_text(std::move(text));
  grpc::Status s = co_await rubato::grpc_call(stub, &echo::Stub::async::say, context, question, answer);
  co_return answered(std::move(s), answer.text());
}

/// By a hedge whose first copy asks `slow` to wait; the second asks `quick` when the first has arrived. By
/// call(stub, text).
template<class Call>
std::string hedged(rubato::pool& p, echo_server& slow, echo_server& quick, Call call,
                   std::string const& text) {
  std::unique_ptr<echo::Stub> const to_slow = slow.stub(), to_quick = quick.stub();
  std::atomic<int> copies{0};
  auto const copy = [&]() -> rubato::task<std::string> {
    bool const is_first = copies++ == 0;
    while (!is_first && slow.begun != 1) co_await rubato::sleep_for(std::chrono::milliseconds(1));
    echo::Stub& to = is_first ? *to_slow : *to_quick;
    std::string question = is_first ? "wait" : text;
    answered const a = co_await call(to, std::move(question));
    co_return a.text;
  };
  auto const race = [&]() -> rubato::task<std::string> {
    auto const options = rubato::race_options().runners(2).hedge_after(std::chrono::milliseconds(1));
    co_return co_await rubato::async_hedge(options, copy);
  };
  std::string winner = p.block_on(race());
  p.wait_idle(); // the loser refers to this frame
  return winner;
}

} // namespace rubato_test
