// Streams that run to their end.
#include "stream_server.hpp"

#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

#include <rubato/grpc_stream.hpp>
#include <rubato/rubato.hpp>

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace rubato_test {
namespace {

using grpc::StatusCode;

struct grpc_streams : beside_server<stream_server> {
  [[nodiscard]] bool handlers_have_ended() {
    return eventually([&] { return server.ended == server.begun; });
  }
};

TEST_P(grpc_streams, client_reads_all) {
  answered const a = pool.block_on(list(*stub, "12"));
  EXPECT_TRUE(a.status.ok()) << a.status.error_message();
  EXPECT_EQ(a.text, "01234567891011");
}

TEST_P(grpc_streams, client_reads_nothing) {
  answered const a = pool.block_on(list(*stub, "0"));
  EXPECT_TRUE(a.status.ok()) << a.status.error_message();
  EXPECT_EQ(a.text, "");
}

TEST_P(grpc_streams, client_writes_all) {
  answered const a = pool.block_on(gather(*stub, 12, "ab"));
  EXPECT_TRUE(a.status.ok()) << a.status.error_message();
  EXPECT_EQ(a.text, "abababababababababababab");
  EXPECT_EQ(server.read, 12);
}

TEST_P(grpc_streams, client_writes_nothing) {
  answered const a = pool.block_on(gather(*stub, 0, "ab"));
  EXPECT_TRUE(a.status.ok()) << a.status.error_message();
  EXPECT_EQ(a.text, "");
}

TEST_P(grpc_streams, two_tasks_read_and_write) {
  answered const a = pool.block_on(talk(*stub, 100, "ab"));
  EXPECT_TRUE(a.status.ok()) << a.status.error_message();
  EXPECT_EQ(a.text.size(), 200U);
  EXPECT_EQ(server.read, 100);
}

TEST_P(grpc_streams, one_task_asks_and_reads_in_turn) {
  grpc::ClientContext context;
  auto const in_turn = [](rubato::grpc_reader<words>& in,
                          rubato::grpc_client_writer<words>& out) -> rubato::task<void> {
    words asked, next;
    for (int i = 0; i != 20; ++i) {
      asked.set_text(std::to_string(i));
      bool const written = co_await out.write(asked);
      EXPECT_TRUE(written);
      bool const is_there = co_await in.read(next);
      EXPECT_TRUE(is_there);
      EXPECT_EQ(next.text(), asked.text());
    }
    bool const said = co_await out.writes_done();
    EXPECT_TRUE(said);
    bool const again = co_await out.writes_done();
    EXPECT_FALSE(again);
    bool const more = co_await in.read(next);
    EXPECT_FALSE(more);
  };
  grpc::Status const s =
      pool.block_on(rubato::grpc_stream(*stub, &echo::Stub::async::talk, context, in_turn));
  EXPECT_TRUE(s.ok()) << s.error_message();
}

TEST_P(grpc_streams, last_message_ends_the_writing) {
  grpc::ClientContext context;
  words answer, part;
  part.set_text("x");
  auto const two = [&part](rubato::grpc_client_writer<words>& out) -> rubato::task<void> {
    bool const first = co_await out.write(part);
    EXPECT_TRUE(first);
    bool const last = co_await out.write(part, grpc::WriteOptions().set_last_message());
    EXPECT_TRUE(last);
    bool const another = co_await out.write(part);
    EXPECT_FALSE(another);
    bool const said = co_await out.writes_done();
    EXPECT_FALSE(said);
  };
  grpc::Status const s =
      pool.block_on(rubato::grpc_stream(*stub, &echo::Stub::async::gather, context, answer, two));
  EXPECT_TRUE(s.ok()) << s.error_message();
  EXPECT_EQ(answer.text(), "xx");
}

TEST_P(grpc_streams, carry_long_messages) {
  std::string const text(3'000'000, 'x'); // several windows of HTTP/2, below gRPC's limit
  answered const a = pool.block_on(talk(*stub, 3, text));
  EXPECT_TRUE(a.status.ok()) << a.status.error_message();
  EXPECT_EQ(a.text, text + text + text);
}

TEST_P(grpc_streams, message_that_is_too_long_ends_the_reads) {
  std::string const text(5'000'000, 'x'); // above gRPC's limit for what a server takes
  EXPECT_EQ(pool.block_on(talk(*stub, 2, text)).status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(handlers_have_ended());
}

TEST_P(grpc_streams, failing_status_comes_behind_the_messages) {
  EXPECT_EQ(pool.block_on(list(*stub, "fail")).status.error_message(), "as asked");
  EXPECT_EQ(pool.block_on(gather(*stub, 1, "fail")).status.error_message(), "as asked");
  EXPECT_EQ(pool.block_on(talk(*stub, 1, "fail")).status.error_code(), StatusCode::OUT_OF_RANGE);
}

TEST_P(grpc_streams, exception_of_a_handler_is_unknown_to_clients) {
  for (auto* const call :
       {+[](echo::Stub& s) { return list(s, "throw"); }, +[](echo::Stub& s) { return gather(s, 1, "throw"); },
        +[](echo::Stub& s) { return talk(s, 1, "throw"); }}) {
    answered const a = pool.block_on(call(*stub));
    EXPECT_EQ(a.status.error_code(), StatusCode::UNKNOWN);
    EXPECT_EQ(a.status.error_message().find("not for clients"), std::string::npos);
  }
}

TEST_P(grpc_streams, server_need_not_read_everything) {
  answered const all = pool.block_on(gather(*stub, 1'000, "leave"));
  EXPECT_TRUE(all.status.ok()) << all.status.error_message();
  EXPECT_EQ(server.read, 1);
  answered const both = pool.block_on(talk(*stub, 1'000, "leave"));
  EXPECT_TRUE(both.status.ok()) << both.status.error_message();
}

TEST_P(grpc_streams, task_that_leaves_before_the_end_cancels) {
  auto const two = [](rubato::grpc_reader<words>& in) -> rubato::task<void> {
    words next;
    co_await in.read(next);
    co_await in.read(next);
    EXPECT_EQ(next.text(), "1");
  };
  grpc::ClientContext context;
  words question;
  question.set_text("forever");
  auto const s = pool.block_on(rubato::grpc_stream(*stub, &echo::Stub::async::list, context, question, two));
  EXPECT_EQ(s.error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(handlers_have_ended());
  EXPECT_EQ(server.begun, 1);
}

TEST_P(grpc_streams, task_that_does_nothing_cancels_what_it_must) {
  grpc::ClientContext first, second, third;
  words question, answer;
  question.set_text("forever");
  auto const reads = [](rubato::grpc_reader<words>& /*in*/) -> rubato::task<void> { co_return; };
  auto const writes = [](rubato::grpc_client_writer<words>& /*out*/) -> rubato::task<void> { co_return; };
  auto const both = [](rubato::grpc_reader<words>& /*in*/,
                       rubato::grpc_client_writer<words>& /*out*/) -> rubato::task<void> { co_return; };
  EXPECT_EQ(pool.block_on(rubato::grpc_stream(*stub, &echo::Stub::async::list, first, question, reads))
                .error_code(),
            StatusCode::CANCELLED);
  EXPECT_TRUE(
      pool.block_on(rubato::grpc_stream(*stub, &echo::Stub::async::gather, second, answer, writes)).ok());
  EXPECT_EQ(pool.block_on(rubato::grpc_stream(*stub, &echo::Stub::async::talk, third, both)).error_code(),
            StatusCode::CANCELLED);
  EXPECT_TRUE(handlers_have_ended());
}

TEST_P(grpc_streams, exception_of_the_task_cancels_and_is_thrown) {
  auto const throws = [](rubato::grpc_reader<words>& in,
                         rubato::grpc_client_writer<words>& out) -> rubato::task<void> {
    words asked, next;
    asked.set_text("any");
    co_await out.write(asked);
    co_await in.read(next);
    throw std::runtime_error("thrown " + next.text());
  };
  grpc::ClientContext context;
  try {
    static_cast<void>(pool.block_on(rubato::grpc_stream(*stub, &echo::Stub::async::talk, context, throws)));
    FAIL() << "no exception";
  } catch (std::runtime_error const& e) {
    EXPECT_STREQ(e.what(), "thrown any");
  }
  EXPECT_TRUE(handlers_have_ended());
}

TEST_P(grpc_streams, callable_that_throws_cancels_and_is_thrown) {
  auto const throws = [](rubato::grpc_client_writer<words>& /*out*/) -> rubato::task<void> {
    throw std::runtime_error("thrown");
  };
  struct { // before there is a task
    rubato::task<void> operator()(rubato::grpc_client_writer<words>& /*out*/) const {
      throw std::runtime_error("thrown");
    }
  } const throws_at_once;
  grpc::ClientContext first, second;
  words answer;
  EXPECT_THROW(static_cast<void>(pool.block_on(
                   rubato::grpc_stream(*stub, &echo::Stub::async::gather, first, answer, throws))),
               std::runtime_error);
  EXPECT_THROW(static_cast<void>(pool.block_on(
                   rubato::grpc_stream(*stub, &echo::Stub::async::gather, second, answer, throws_at_once))),
               std::runtime_error);
  EXPECT_TRUE(handlers_have_ended());
}

TEST_P(grpc_streams, server_that_is_gone_is_a_status) {
  server.shut_down();
  EXPECT_EQ(pool.block_on(list(*stub, "3")).status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(pool.block_on(gather(*stub, 3, "x")).status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(pool.block_on(talk(*stub, 3, "x")).status.error_code(), StatusCode::UNAVAILABLE);
}

TEST_P(grpc_streams, deadline_of_the_context_is_a_status) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 30ms);
  words question;
  question.set_text("forever");
  auto const all = [](rubato::grpc_reader<words>& in) -> rubato::task<void> {
    words next;
    for (bool more = co_await in.read(next); more; more = co_await in.read(next)) {
    }
  };
  auto const s = pool.block_on(rubato::grpc_stream(*stub, &echo::Stub::async::list, context, question, all));
  EXPECT_EQ(s.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(handlers_have_ended());
}

TEST_P(grpc_streams, writer_waits_for_a_slow_reader) {
  // The server reads one message and then waits, so windows of HTTP/2 fill up long before all are written.
  auto const some = [](echo::Stub& to, stream_server& s) -> rubato::task<int> {
    grpc::ClientContext context;
    words answer, part;
    int written = 0;
    auto const body = [&](rubato::grpc_client_writer<words>& out) -> rubato::task<void> {
      part.set_text("wait");
      co_await out.write(part);
      part.set_text(std::string(100'000, 'x'));
      for (; written != 200; ++written) {
        bool const taken = co_await out.write(part);
        EXPECT_TRUE(taken);
      }
    };
    auto const opens = [&]() -> rubato::task<void> {
      while (s.read != 1) co_await rubato::sleep_for(1ms);
      EXPECT_LT(written, 200);
      s.open();
    };
    auto const calls = [&]() -> rubato::task<void> {
      auto const st = co_await rubato::grpc_stream(to, &echo::Stub::async::gather, context, answer, body);
      EXPECT_EQ(st.error_message(), "");
    };
    co_await rubato::when_all(calls(), opens());
    co_return written;
  };
  EXPECT_EQ(pool.block_on(some(*stub, server)), 200);
  EXPECT_EQ(server.read, 201);
}

// gRPC holds such a message until the next one, or until the end of the call, which waited for the write.
TEST_P(grpc_streams, regression_last_message_of_a_server_is_sent) {
  answered const a = pool.block_on(list(*stub, "last"));
  EXPECT_TRUE(a.status.ok()) << a.status.error_message();
  EXPECT_EQ(a.text, "first last");
  EXPECT_EQ(server.written, 2);
}

TEST_P(grpc_streams, regression_buffer_hint_lets_a_write_end) {
  grpc::ClientContext context;
  words answer;
  auto const body = [](rubato::grpc_client_writer<words>& out) -> rubato::task<void> {
    words part;
    part.set_text("a");
    bool const first = co_await out.write(part, grpc::WriteOptions().set_buffer_hint());
    bool const last = co_await out.write(part, grpc::WriteOptions().set_last_message());
    bool const later = co_await out.write(part);
    EXPECT_TRUE(first && last && !later);
  };
  auto const s = pool.block_on(rubato::grpc_stream(*stub, &echo::Stub::async::gather, context, answer, body));
  EXPECT_TRUE(s.ok()) << s.error_message();
  EXPECT_EQ(answer.text(), "aa");
}

TEST_P(grpc_streams, many_at_once) {
  int const n = static_cast<int>(scaled(60));
  std::atomic<int> right{0};
  auto const one = [](echo::Stub& to, int i, std::atomic<int>& sum) -> rubato::task<void> {
    rubato::task<answered> t;
    if (i % 3 == 0) t = list(to, "10");
    if (i % 3 == 1) t = gather(to, 5, "ab");
    if (i % 3 == 2) t = talk(to, 5, "ab");
    answered const a = co_await std::move(t);
    if (a.status.ok() && a.text.size() == 10) ++sum;
  };
  rubato::with_scope(pool, [&](rubato::scope& s) {
    for (int i = 0; i != n; ++i) s.spawn(one(*stub, i, right));
  });
  EXPECT_EQ(right, n);
  EXPECT_EQ(server.begun, n);
}

TEST_P(grpc_streams, one_pool_can_stream_to_itself) {
  if (pool.size() == 0) GTEST_SKIP() << "nothing runs beside the caller";
  stream_server own(pool);
  std::unique_ptr<echo::Stub> const to = own.stub();
  for (int i = 0; i != 5; ++i) EXPECT_EQ(pool.block_on(talk(*to, 20, "a")).text, std::string(20, 'a'));
}

RUBATO_TEST_WITH_WORKERS(grpc_streams, all_counts);

} // namespace
} // namespace rubato_test
