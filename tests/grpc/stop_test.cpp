// Stops of calls that wait, at the client and at the server.
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
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rubato_test {
namespace {

struct grpc_stops : beside_server<echo_server> {
  [[nodiscard]] bool call_has_arrived() {
    return eventually([&] { return server.begun == 1; });
  }
  [[nodiscard]] bool server_has_stopped() {
    return eventually([&] { return server.stopped == 1; });
  }

  /// A call of a task of that pool waits at the server; stop(future of the task) ends it at both sides.
  template<class Stop>
  void expect_end_at_both_sides(rubato::pool& p, Stop stop) {
    auto f = p.spawn(ask(*stub, "wait"));
    ASSERT_TRUE(call_has_arrived());
    stop(f);
    EXPECT_THROW(f.get(), rubato::cancelled);
    EXPECT_TRUE(server_has_stopped());
  }
};

TEST_P(grpc_stops, stopped_task_sends_nothing) {
  auto const late = [](echo::Stub& to) -> rubato::task<answered> {
    while (!rubato::this_task_stop_token().stop_requested()) co_await rubato::yield();
    co_return co_await ask(to, "too late");
  };
  auto f = pool.spawn(late(*stub));
  f.cancel();
  EXPECT_THROW(f.get(), rubato::cancelled);
  // Were it sent, it would have arrived before this one.
  EXPECT_TRUE(pool.block_on(ask(*stub, "next")).status.ok());
  EXPECT_EQ(server.begun, 1);
}

TEST_P(grpc_stops, cancel_ends_the_call_at_both_sides) {
  expect_end_at_both_sides(pool, [](auto& f) { f.cancel(); });
}

TEST_P(grpc_stops, with_deadline_ends_the_call_at_both_sides) {
  auto const timed = [](echo::Stub& to) -> rubato::task<bool> {
    auto const a = co_await rubato::with_deadline(ask(to, "wait"), 30ms);
    co_return a.has_value();
  };
  EXPECT_FALSE(pool.block_on(timed(*stub)));
  EXPECT_TRUE(eventually([&] { return server.stopped == server.begun; }));
}

TEST_P(grpc_stops, with_deadline_takes_the_bare_call) {
  auto const timed = [](echo::Stub& to) -> rubato::task<bool> {
    grpc::ClientContext context;
    words question, answer;
    question.set_text("soon");
    auto const s = co_await rubato::with_deadline(
        rubato::grpc_call(to, &echo::Stub::async::say, context, question, answer), 60s);
    co_return s.has_value() && s->ok() && answer.text() == "soon";
  };
  EXPECT_TRUE(pool.block_on(timed(*stub)));
}

TEST_P(grpc_stops, stop_of_a_scope_ends_its_calls) {
  int const n = 20;
  std::atomic<int> cancelled{0};
  auto const one = [](echo::Stub& to, std::atomic<int>& sum) -> rubato::task<void> {
    try {
      static_cast<void>(co_await ask(to, "wait"));
    } catch (rubato::cancelled const&) {
      ++sum;
    }
  };
  rubato::with_scope(pool, [&](rubato::scope& s) {
    for (int i = 0; i != n; ++i) s.spawn(one(*stub, cancelled));
    EXPECT_TRUE(eventually([&] { return server.begun == n; }));
    s.request_stop();
  });
  EXPECT_EQ(cancelled, n);
  EXPECT_TRUE(eventually([&] { return server.stopped == n; }));
}

TEST_P(grpc_stops, loser_of_when_any_is_cancelled) {
  auto const wins = [](echo_server& s) -> rubato::task<answered> {
    while (s.begun != 1) co_await rubato::sleep_for(1ms);
    co_return answered(grpc::Status::OK, "first");
  };
  auto const both = [&]() -> rubato::task<std::size_t> {
    auto const first = co_await rubato::when_any(ask(*stub, "wait"), wins(server));
    co_return first.index;
  };
  EXPECT_EQ(pool.block_on(both()), 1U);
  EXPECT_TRUE(server_has_stopped());
}

TEST_P(grpc_stops, hedge_cancels_the_losing_call_at_its_server) {
  echo_server quick(served);
  EXPECT_EQ(hedged(pool, server, quick, &ask, "quick"), "quick");
  EXPECT_TRUE(server_has_stopped());
  EXPECT_EQ(quick.stopped, 0);
}

TEST_P(grpc_stops, stop_goes_on_to_the_servers_behind) {
  echo_server front(served);
  front.behind = server.stub();
  std::unique_ptr<echo::Stub> const to_front = front.stub();
  auto f = pool.spawn(ask(*to_front, "ask"));
  ASSERT_TRUE(call_has_arrived());
  f.cancel();
  EXPECT_THROW(f.get(), rubato::cancelled);
  EXPECT_TRUE(server_has_stopped());
  EXPECT_TRUE(eventually([&] { return front.stopped == 1; }));
}

TEST_P(grpc_stops, stop_beside_the_answer_yields_one_of_both) {
  int const n = static_cast<int>(scaled(300));
  int answers = 0, stops = 0;
  for (int i = 0; i != n; ++i) {
    auto f = pool.spawn(ask(*stub, "soon"));
    // From before the call begins to after its end.
    for (int spins = 0; spins != i % 50; ++spins) std::this_thread::yield();
    if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(i));
    f.cancel();
    try {
      answered const a = f.get();
      EXPECT_TRUE(a.status.ok()) << a.status.error_message();
      EXPECT_EQ(a.text, "soon");
      ++answers;
    } catch (rubato::cancelled const&) {
      ++stops;
    }
  }
  EXPECT_EQ(answers + stops, n);
}

TEST_P(grpc_stops, many_stops_beside_the_answers) {
  int const rounds = static_cast<int>(scaled(10));
  for (int i = 0; i != rounds; ++i) {
    std::atomic<int> over{0};
    auto const one = [](echo::Stub& to, std::atomic<int>& sum) -> rubato::task<void> {
      try {
        answered const a = co_await ask(to, "soon");
        EXPECT_EQ(a.text, "soon");
      } catch (rubato::cancelled const&) {
      }
      ++sum;
    };
    int begun = 0;
    rubato::with_scope(pool, [&](rubato::scope& s) {
      for (; begun != 30; ++begun) s.spawn(one(*stub, over));
      while (over < i) std::this_thread::yield();
      s.request_stop();
    });
    EXPECT_LE(over, begun); // those that had not begun never do
  }
}

TEST_P(grpc_stops, drain_of_the_pool_ends_the_call) {
  expect_end_at_both_sides(pool, [&](auto& /*f*/) { pool.shutdown(); });
}

TEST_P(grpc_stops, discard_of_the_pool_ends_the_call) {
  expect_end_at_both_sides(pool, [&](auto& /*f*/) { pool.shutdown(rubato::discard); });
}

TEST_P(grpc_stops, pool_that_goes_ends_the_call) {
  std::optional<rubato::pool> own(std::in_place, GetParam());
  expect_end_at_both_sides(*own, [&](auto& f) {
    own.reset();
    EXPECT_TRUE(f.ready());
  });
}

TEST_P(grpc_stops, end_of_the_server_is_no_stop_of_the_client) {
  auto f = pool.spawn(ask(*stub, "wait"));
  ASSERT_TRUE(call_has_arrived());
  server.shut_down();
  EXPECT_EQ(server.stopped, 1);
  EXPECT_FALSE(f.get().status.ok());
}

TEST_P(grpc_stops, server_whose_pool_ends_answers_nevertheless) {
  auto f = pool.spawn(ask(*stub, "wait"));
  ASSERT_TRUE(call_has_arrived());
  served.shutdown(rubato::discard);
  EXPECT_EQ(f.get().status.error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(pool.block_on(ask(*stub, "late")).status.error_code(), grpc::StatusCode::CANCELLED);
}

// gRPC tells of the client's stop when the pool has refused the handler.
TEST_P(grpc_stops, regression_stop_of_a_call_that_was_refused) {
  if (pool.size() == 0) GTEST_SKIP() << "the call does not begin";
  served.shutdown();
  auto f = pool.spawn(ask(*stub, "gone"));
  ASSERT_TRUE(eventually([&] { return server.arrived == 1; }));
  f.cancel();
  EXPECT_THROW(f.get(), rubato::cancelled);
  server.shut_down();
  EXPECT_EQ(server.begun, 0);
}

TEST_P(grpc_stops, servers_come_and_go_under_load) {
  std::atomic<bool> over{false};
  auto const asks = [](echo::Stub& to, std::atomic<bool> const& end) -> rubato::task<void> {
    while (!end) {
      answered const a = co_await ask(to, "any");
      EXPECT_TRUE(a.status.ok() || a.text.empty());
    }
  };
  {
    echo_server own(served);
    std::unique_ptr<echo::Stub> const to = own.stub();
    rubato::with_scope(pool, [&](rubato::scope& s) {
      for (int i = 0; i != 8; ++i) s.spawn(asks(*to, over));
      EXPECT_TRUE(eventually([&] { return own.begun > 20; }));
      own.shut_down();
      over = true;
    });
  }
  EXPECT_TRUE(pool.block_on(ask(*stub, "next")).status.ok());
}

/// A parameter of a handler. It notes whether the call has still been open when it was destroyed.
class uses_the_call {
  std::atomic<bool> const* is_over_;
  std::atomic<int>* in_time_;

public:
  uses_the_call(std::atomic<bool> const& is_over, std::atomic<int>& in_time) noexcept
      : is_over_(&is_over)
      , in_time_(&in_time) {}
  uses_the_call(uses_the_call&& other) noexcept
      : is_over_(std::exchange(other.is_over_, nullptr))
      , in_time_(other.in_time_) {}
  uses_the_call& operator=(uses_the_call&&) = delete;
  ~uses_the_call() {
    if (is_over_ == nullptr) return;
    std::this_thread::sleep_for(until_others_sleep); // the client would get the answer
    if (!*is_over_) ++*in_time_;
  }
};

struct server_with_parameters final : echo_server {
  std::atomic<bool> is_over{false}; ///< for the client
  std::atomic<int> in_time{0};

  using echo_server::echo_server;
  ~server_with_parameters() override { shut_down(); }
  grpc::ServerUnaryReactor* say(grpc::CallbackServerContext* /*context*/, words const* /*asked*/,
                                words* /*answer*/) override {
    auto const answer = [](uses_the_call /*u*/) -> rubato::task<grpc::Status> { co_return grpc::Status::OK; };
    auto* const made = rubato::grpc_handle(pool_, answer(uses_the_call(is_over, in_time)));
    ++arrived;
    return made;
  }
};

// gRPC may destroy the messages as soon as the call has its answer.
TEST(grpc_handlers, regression_unbegun_ends_before_its_call) {
  rubato::pool client(1);
  rubato::pool served(rubato::no_workers);
  server_with_parameters server(served);
  std::unique_ptr<echo::Stub> const stub = server.stub();
  auto const asks = [](echo::Stub& to, std::atomic<bool>& is_over) -> rubato::task<grpc::StatusCode> {
    answered const a = co_await ask(to, "any");
    is_over = true;
    co_return a.status.error_code();
  };
  auto f = client.spawn(asks(*stub, server.is_over));
  ASSERT_TRUE(eventually([&] { return server.arrived == 1; }));
  served.shutdown(rubato::discard);
  EXPECT_EQ(f.get(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(server.in_time, 1);
}

RUBATO_TEST_WITH_WORKERS(grpc_stops, counts_with_workers);

} // namespace
} // namespace rubato_test
