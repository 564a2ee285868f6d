// Calls and their answers.
#include "echo_server.hpp"

#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

#include <rubato/grpc.hpp>
#include <rubato/rubato.hpp>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rubato_test {
namespace {

using grpc::StatusCode;

struct grpc_calls : beside_server<echo_server> {};

TEST_P(grpc_calls, yields_the_answer) {
  answered const a = pool.block_on(ask(*stub, "a text"));
  EXPECT_TRUE(a.status.ok()) << a.status.error_message();
  EXPECT_EQ(a.text, "a text");
}

TEST_P(grpc_calls, carries_long_messages) {
  std::string const text(3'000'000, 'x'); // several windows of HTTP/2, below gRPC's limit
  answered const a = pool.block_on(ask(*stub, text));
  EXPECT_TRUE(a.status.ok()) << a.status.error_message();
  EXPECT_EQ(a.text, text);
}

TEST_P(grpc_calls, yields_a_failing_status) {
  answered const a = pool.block_on(ask(*stub, "fail"));
  EXPECT_EQ(a.status.error_code(), StatusCode::OUT_OF_RANGE);
  EXPECT_EQ(a.status.error_message(), "as asked");
}

TEST_P(grpc_calls, exception_of_a_handler_is_unknown_to_clients) {
  answered const a = pool.block_on(ask(*stub, "throw"));
  EXPECT_EQ(a.status.error_code(), StatusCode::UNKNOWN);
  EXPECT_EQ(a.status.error_message().find("not for clients"), std::string::npos);
}

TEST_P(grpc_calls, message_that_is_too_long_is_a_status) {
  std::string const text(5'000'000, 'x'); // above gRPC's limit for what a server takes
  EXPECT_EQ(pool.block_on(ask(*stub, text)).status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
}

TEST_P(grpc_calls, deadline_of_the_context_is_a_status) {
  auto const expires = [](echo::Stub& to) -> rubato::task<StatusCode> {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 30ms);
    words question, answer;
    question.set_text("wait");
    grpc::Status const s = co_await rubato::grpc_call(to, &echo::Stub::async::say, context, question, answer);
    co_return s.error_code();
  };
  EXPECT_EQ(pool.block_on(expires(*stub)), StatusCode::DEADLINE_EXCEEDED);
  // The server learns of it, unless the call had not arrived.
  EXPECT_TRUE(eventually([&] { return server.stopped == server.begun; }));
}

TEST_P(grpc_calls, server_that_is_gone_is_a_status) {
  server.shut_down();
  EXPECT_EQ(pool.block_on(ask(*stub, "late")).status.error_code(), StatusCode::UNAVAILABLE);
}

TEST_P(grpc_calls, all_are_answered_at_once) {
  int const n = static_cast<int>(scaled(200));
  std::atomic<int> right{0};
  auto const one = [](echo::Stub& to, int i, std::atomic<int>& sum) -> rubato::task<void> {
    answered const a = co_await ask(to, std::to_string(i));
    if (a.status.ok() && a.text == std::to_string(i)) ++sum;
  };
  auto const all = [&]() -> rubato::task<void> {
    std::vector<rubato::task<void>> calls;
    for (int i = 0; i != n; ++i) calls.push_back(one(*stub, i, right));
    co_await rubato::when_all(std::move(calls));
  };
  pool.block_on(all());
  EXPECT_EQ(right, n);
  EXPECT_EQ(server.begun, n);
}

TEST_P(grpc_calls, worker_runs_other_tasks_meanwhile) {
  // All wait at the server at once, in a pool with fewer workers.
  static constexpr int n = 40;
  auto const all = [&]() -> rubato::task<int> {
    std::vector<rubato::task<answered>> calls;
    for (int i = 0; i != n; ++i) calls.push_back(ask(*stub, "wait"));
    auto const opens = [](echo_server& s) -> rubato::task<answered> {
      while (s.begun != n) co_await rubato::sleep_for(1ms);
      s.open();
      co_return answered(grpc::Status::OK, "wait");
    };
    calls.push_back(opens(server));
    std::vector<answered> const answers = co_await rubato::when_all(std::move(calls));
    int right = 0;
    for (answered const& a : answers) right += a.status.ok() && a.text == "wait";
    co_return right;
  };
  EXPECT_EQ(pool.block_on(all()), n + 1);
}

TEST_P(grpc_calls, one_pool_can_ask_itself) {
  if (pool.size() == 0) GTEST_SKIP() << "nothing runs beside the caller";
  echo_server own(pool);
  std::unique_ptr<echo::Stub> const to = own.stub();
  for (int i = 0; i != 20; ++i) EXPECT_EQ(pool.block_on(ask(*to, std::to_string(i))).text, std::to_string(i));
}

RUBATO_TEST_WITH_WORKERS(grpc_calls, all_counts);

} // namespace
} // namespace rubato_test
