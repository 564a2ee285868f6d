// Unary calls of gRPC, as programs make them: blocking, awaited by coroutines of Rubato, and by gRPC's own
// callbacks and completion queue. docs/adapters/grpc.md has the figures.
//
//   calls [calls per round] [rounds] [in flight] [workers]
//
// The server answers on gRPC's threads, without Rubato, in the same process, over a Unix socket. Each round
// runs all kinds one after the other. Prints the medians of all rounds, the ratios of each round to the other
// kind's in it, and the CPU time of the process per call.
#include "echo.grpc.pb.h"

#include <rubato/grpc.hpp>
#include <rubato/rubato.hpp>

#include <grpcpp/grpcpp.h>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

using rubato_test::echo;
using rubato_test::words;

struct server final : echo::CallbackService {
  grpc::ServerUnaryReactor* say(grpc::CallbackServerContext* context, words const* asked,
                                words* answer) override {
    answer->set_text(asked->text());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

void check(grpc::Status const& s) {
  if (s.ok()) return;
  std::fprintf(stderr, "%s\n", s.error_message().c_str());
  std::exit(1);
}
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

struct sample {
  double us = 0, cpu_us = 0; ///< per call
};
double cpu_us() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  auto const us = [](timeval t) { return double(t.tv_sec) * 1e6 + double(t.tv_usec); };
  return us(u.ru_utime) + us(u.ru_stime);
}
template<class F>
sample measured(int calls, F f) {
  double const cpu = cpu_us();
  auto const begin = std::chrono::steady_clock::now();
  f();
  std::chrono::duration<double, std::micro> const took = std::chrono::steady_clock::now() - begin;
  return {took.count() / calls, (cpu_us() - cpu) / calls};
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
void print(char const* name, std::vector<sample> const& all, std::vector<sample> const& beside) {
  std::vector<double> us, cpu, ratio, cpu_ratio;
  for (std::size_t i = 0; i != all.size(); ++i) {
    us.push_back(all[i].us);
    cpu.push_back(all[i].cpu_us);
    ratio.push_back(all[i].us / beside[i].us);
    cpu_ratio.push_back(all[i].cpu_us / beside[i].cpu_us);
  }
  auto const [least, most] = std::minmax_element(ratio.begin(), ratio.end());
  std::printf("%-28s %8.1f us %9.0f/s  ratio %.2f (%.2f-%.2f)  CPU %.1f us, ratio %.2f\n", name, median(us),
              1e6 / median(us), median(ratio), *least, *most, median(cpu), median(cpu_ratio));
}

} // namespace

int main(int argc, char** argv) {
  int const calls = argc > 1 ? std::atoi(argv[1]) : 2'000;
  int const rounds = argc > 2 ? std::atoi(argv[2]) : 9;
  int const in_flight = argc > 3 ? std::atoi(argv[3]) : 16;
  std::string const path = "unix:/tmp/rubato-bench-grpc." + std::to_string(getpid());
  server service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(path, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  auto const running = builder.BuildAndStart();
  if (running == nullptr) return 1;
  auto const stub = echo::NewStub(grpc::CreateChannel(path, grpc::InsecureChannelCredentials()));
  rubato::pool pool(argc > 4 ? unsigned(std::atoi(argv[4])) : 2);

  std::vector<sample> one_blocking, one_awaited, one_callback, many_awaited, many_callback, many_queue;
  blocking(*stub, 100); // connects
  for (int r = 0; r != rounds; ++r) {
    one_blocking.push_back(measured(calls, [&] { blocking(*stub, calls); }));
    one_awaited.push_back(measured(calls, [&] { awaited(pool, *stub, calls, 1); }));
    one_callback.push_back(measured(calls, [&] { by_callback(*stub, calls, 1); }));
    many_awaited.push_back(measured(calls, [&] { awaited(pool, *stub, calls, in_flight); }));
    many_callback.push_back(measured(calls, [&] { by_callback(*stub, calls, in_flight); }));
    many_queue.push_back(measured(calls, [&] { by_queue(*stub, calls, in_flight); }));
  }
  std::printf("one at a time; ratios to the blocking call\n");
  print("blocking", one_blocking, one_blocking);
  print("awaited", one_awaited, one_blocking);
  print("callback", one_callback, one_blocking);
  std::printf("%d in flight; ratios to the callbacks\n", in_flight);
  print("awaited", many_awaited, many_callback);
  print("callback", many_callback, many_callback);
  print("completion queue", many_queue, many_callback);
}
