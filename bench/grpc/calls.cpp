// Calls of gRPC, as programs make them: blocking, awaited by coroutines of Rubato, and by gRPC's own
// callbacks and completion queue; streams; and calls that are cancelled. docs/adapters/grpc.md has the
// figures.
//
//   calls [calls per round] [rounds] [in flight] [workers] [messages of a stream] [cancels per round]
//
// 0 calls, messages or cancels leave these out. The server is in the same process, over a Unix socket. It
// answers calls on gRPC's threads, without Rubato. Each round runs all kinds one after the other. Prints the
// medians of all rounds, the ratios of each round to the other kind's in it, and the CPU time of the process
// per call or message.
#include "echo.grpc.pb.h"

#include "cancels.hpp"
#include "measured.hpp"
#include "streams.hpp"

#include <rubato/grpc.hpp>
#include <rubato/rubato.hpp>

#include <grpcpp/grpcpp.h>

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

using namespace bench;

struct server final : echo::CallbackService {
  grpc::ServerUnaryReactor* say(grpc::CallbackServerContext* context, words const* asked,
                                words* answer) override {
    answer->set_text(asked->text());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

words question() {
  words w;
  w.set_text("how many calls a second?");
  return w;
}

void blocking(echo::Stub& stub, int calls) {
  words const asked = question();
  for (int i = 0; i != calls; ++i) {
    grpc::ClientContext context;
    words answer;
    check(stub.say(&context, asked, &answer));
  }
}

rubato::task<void> awaiting(echo::Stub& stub, int calls) {
  words const asked = question();
  for (int i = 0; i != calls; ++i) {
    grpc::ClientContext context;
    words answer;
    grpc::Status const s = co_await rubato::grpc_call(stub, &echo::Stub::async::say, context, asked, answer);
    check(s);
  }
}
void awaited(rubato::pool& pool, echo::Stub& stub, int calls, int in_flight) {
  rubato::with_scope(pool, [&](rubato::scope& s) {
    for (int i = 0; i != in_flight; ++i) s.spawn(awaiting(stub, calls / in_flight));
  });
}

/// Each call begins the next one in its callback.
class callback_chain {
  echo::Stub& stub_;
  words const asked_ = question();
  words answer_;
  std::unique_ptr<grpc::ClientContext> context_;
  int left_;
  std::atomic<int>& running_;
  std::mutex& mutex_;
  std::condition_variable& over_;

public:
  callback_chain(echo::Stub& s, int calls, std::atomic<int>& running, std::mutex& m,
                 std::condition_variable& c)
      : stub_(s)
      , left_(calls)
      , running_(running)
      , mutex_(m)
      , over_(c) {}
  void next() {
    if (left_-- == 0) {
      std::lock_guard const lock(mutex_);
      if (--running_ == 0) over_.notify_one();
      return;
    }
    context_ = std::make_unique<grpc::ClientContext>();
    stub_.async()->say(context_.get(), &asked_, &answer_, [this](grpc::Status const& s) {
      check(s);
      next();
    });
  }
};
void by_callback(echo::Stub& stub, int calls, int in_flight) {
  std::atomic<int> running{in_flight};
  std::mutex mutex;
  std::condition_variable over;
  std::vector<std::unique_ptr<callback_chain>> chains;
  for (int i = 0; i != in_flight; ++i)
    chains.push_back(std::make_unique<callback_chain>(stub, calls / in_flight, running, mutex, over));
  for (auto const& c : chains) c->next();
  std::unique_lock lock(mutex);
  over.wait(lock, [&] { return running == 0; });
}

/// One thread, the caller, that polls a completion queue.
void by_queue(echo::Stub& stub, int calls, int in_flight) {
  struct call {
    grpc::ClientContext context;
    words answer;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<words>> reader;
  };
  words const asked = question();
  grpc::CompletionQueue queue;
  auto const begin = [&] {
    auto* const c = new call();
    c->reader = stub.Asyncsay(&c->context, asked, &queue);
    c->reader->Finish(&c->answer, &c->status, c);
  };
  int const all = calls / in_flight * in_flight;
  int begun = 0;
  for (; begun != in_flight; ++begun) begin();
  for (int ended = 0; ended != all; ++ended) {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    std::unique_ptr<call> const c(static_cast<call*>(tag));
    check(c->status);
    if (begun++ < all) begin();
  }
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
  } // until it is empty, as its destructor demands
}

} // namespace

int main(int argc, char** argv) {
  auto const number = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  int const calls = number(1, 2'000), rounds = number(2, 9), in_flight = number(3, 16);
  rubato::pool pool(unsigned(number(4, 2)));
  int const messages = number(5, 20'000), cancels = number(6, 100);
  std::string const path = "unix:/tmp/rubato-bench-grpc." + std::to_string(getpid());
  served_at<server> plain(path);
  served_at<stream_server> streaming(path + ".s", pool);
  served_at<waiting_server> first(path + ".1", pool), second(path + ".2", pool);

  std::vector<sample> one_blocking, one_awaited, one_callback, many_awaited, many_callback, many_queue;
  std::vector<sample> callbacks, reading, writing, both, hedge, bare;
  if (calls != 0) blocking(*plain.stub, 100); // connects
  for (int r = 0; r != rounds; ++r) {
    if (calls != 0) {
      one_blocking.push_back(measured(calls, [&] { blocking(*plain.stub, calls); }));
      one_awaited.push_back(measured(calls, [&] { awaited(pool, *plain.stub, calls, 1); }));
      one_callback.push_back(measured(calls, [&] { by_callback(*plain.stub, calls, 1); }));
      many_awaited.push_back(measured(calls, [&] { awaited(pool, *plain.stub, calls, in_flight); }));
      many_callback.push_back(measured(calls, [&] { by_callback(*plain.stub, calls, in_flight); }));
      many_queue.push_back(measured(calls, [&] { by_queue(*plain.stub, calls, in_flight); }));
    }
    if (messages != 0) {
      callbacks.push_back(
          measured(messages, [&] { read_by_callback(*streaming.stub, messages, "callback"); }));
      reading.push_back(
          measured(messages, [&] { read_awaited(pool, *streaming.stub, messages, "callback"); }));
      writing.push_back(
          measured(messages, [&] { read_by_callback(*streaming.stub, messages, "coroutine"); }));
      both.push_back(measured(messages, [&] { read_awaited(pool, *streaming.stub, messages, "coroutine"); }));
    }
    if (cancels != 0) {
      hedge.push_back(cancelled_by_hedge(pool, first, second, cancels));
      bare.push_back(cancelled_by_callback(first, cancels));
    }
  }
  if (calls != 0) {
    std::printf("one at a time; ratios to the blocking call\n");
    print("blocking", one_blocking, one_blocking);
    print("awaited", one_awaited, one_blocking);
    print("callback", one_callback, one_blocking);
    std::printf("%d in flight; ratios to the callbacks\n", in_flight);
    print("awaited", many_awaited, many_callback);
    print("callback", many_callback, many_callback);
    print("completion queue", many_queue, many_callback);
  }
  if (messages != 0) {
    std::printf("messages of a server's stream; ratios to callbacks at both ends\n");
    print("callbacks", callbacks, callbacks);
    print("client awaits", reading, callbacks);
    print("server awaits", writing, callbacks);
    print("both await", both, callbacks);
  }
  if (cancels != 0) {
    std::printf("from the winner's answer, or the cancel, to the stop at the server (median of a round)\n");
    print("hedge", hedge, bare);
    print("callback", bare, bare);
  }
}
