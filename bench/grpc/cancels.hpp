// How long it takes until a call is cancelled at its server: the losing call of a hedge, from the winner's
// answer at the client to the stop of the server's coroutine; and by gRPC's own interfaces, from TryCancel()
// to OnCancel().
#pragma once

#include "measured.hpp"

#include <rubato/grpc.hpp>
#include <rubato/rubato.hpp>

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

namespace bench {

using clock = std::chrono::steady_clock;

/// Answers "quick" at once. Any other call waits for its cancel: "callback" by a reactor, the rest by a
/// coroutine.
class waiting_server final : public echo::CallbackService {
  rubato::pool& pool_;
  rubato::event never_;

  class waiter final : public grpc::ServerUnaryReactor {
    waiting_server& server_;

    void OnCancel() override {
      server_.stopped = clock::now().time_since_epoch().count();
      Finish(grpc::Status::CANCELLED);
    }
    void OnDone() override { delete this; }

  public:
    explicit waiter(waiting_server& s)
        : server_(s) {
      ++server_.begun;
    }
  };
  static rubato::task<grpc::Status> answer(waiting_server& self, words const& asked) {
    if (asked.text() == "quick") co_return grpc::Status::OK;
    ++self.begun;
    try {
      co_await self.never_.wait();
    } catch (rubato::cancelled const&) {
      self.stopped = clock::now().time_since_epoch().count();
      throw;
    }
    co_return grpc::Status::OK;
  }
  grpc::ServerUnaryReactor* say(grpc::CallbackServerContext* /*context*/, words const* asked,
                                words* /*answer*/) override {
    if (asked->text() == "callback") return new waiter(*this);
    return rubato::grpc_handle(pool_, answer(*this, *asked));
  }

public:
  std::atomic<int> begun{0};          ///< calls that wait
  std::atomic<clock::rep> stopped{0}; ///< when the last one was stopped

  explicit waiting_server(rubato::pool& p)
      : pool_(p) {}
  /// The time from there to the stop, in microseconds.
  [[nodiscard]] double stopped_after(clock::time_point begin) {
    while (stopped == 0) std::this_thread::yield();
    return std::chrono::duration<double, std::micro>(clock::duration(stopped) - begin.time_since_epoch())
        .count();
  }
};

/// The first copy asks a server that does not answer, and the second one, when that call has arrived, one
/// that does.
inline sample cancelled_by_hedge(rubato::pool& pool, served_at<waiting_server>& slow,
                                 served_at<waiting_server>& quick, int n) {
  std::vector<double> us;
  double const cpu = cpu_us();
  for (int i = 0; i != n; ++i) {
    slow.service.begun = 0;
    slow.service.stopped = 0;
    std::atomic<int> copies{0};
    clock::time_point answered;
    auto const ask = [&]() -> rubato::task<int> {
      bool const is_first = copies++ == 0;
      grpc::ClientContext context;
      words question, reply;
      question.set_text(is_first ? "slow" : "quick");
      while (!is_first && slow.service.begun == 0) co_await rubato::yield();
      echo::Stub& to = is_first ? *slow.stub : *quick.stub;
      auto const s = co_await rubato::grpc_call(to, &echo::Stub::async::say, context, question, reply);
      check(s);
      answered = clock::now();
      co_return 1;
    };
    auto const options = rubato::race_options().runners(2).hedge_after(std::chrono::microseconds(100));
    static_cast<void>(pool.block_on(rubato::async_hedge(options, ask)));
    us.push_back(slow.service.stopped_after(answered));
    pool.wait_idle(); // the loser refers to this frame
  }
  return {median(us), (cpu_us() - cpu) / n};
}

inline sample cancelled_by_callback(served_at<waiting_server>& slow, int n) {
  std::vector<double> us;
  double const cpu = cpu_us();
  words question;
  question.set_text("callback");
  for (int i = 0; i != n; ++i) {
    slow.service.begun = 0;
    slow.service.stopped = 0;
    grpc::ClientContext context;
    words reply;
    std::promise<void> over;
    slow.stub->async()->say(&context, &question, &reply,
                            [&](grpc::Status const& /*s*/) { over.set_value(); });
    while (slow.service.begun == 0) std::this_thread::yield();
    clock::time_point const begin = clock::now();
    context.TryCancel();
    us.push_back(slow.service.stopped_after(begin));
    over.get_future().get();
  }
  return {median(us), (cpu_us() - cpu) / n};
}

} // namespace bench
