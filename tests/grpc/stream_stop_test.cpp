// Stops of streams, at the client and at the server, at each moment.
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
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace rubato_test {
namespace {

using grpc::StatusCode;

/// Writes until it is stopped: the server does not read what it waits for.
rubato::task<void> write_on(rubato::grpc_client_writer<words>& out) {
  words part;
  part.set_text("wait");
  for (bool more = true; more;) {
    more = co_await out.write(part);
    part.set_text(std::string(100'000, 'x'));
  }
}
rubato::task<answered> gather_on(echo::Stub& stub) {
  grpc::ClientContext context;
  words answer;
  grpc::Status s = co_await rubato::grpc_stream(stub, &echo::Stub::async::gather, context, answer, &write_on);
  co_return answered(std::move(s), answer.text());
}
/// Its body waits for an event that is never set, while the call is open.
struct sitter {
  rubato::event never;
  std::atomic<int> sits{0}, stopped{0};
};
rubato::task<answered> sit_beside(echo::Stub& stub, sitter& me) {
  grpc::ClientContext context;
  auto const sits = [&](rubato::grpc_reader<words>& in,
                        rubato::grpc_client_writer<words>& out) -> rubato::task<void> {
    words part;
    part.set_text("any");
    co_await out.write(part);
    co_await in.read(part);
    ++me.sits;
    try {
      co_await me.never.wait();
    } catch (rubato::cancelled const&) {
      ++me.stopped;
      throw;
    }
  };
  grpc::Status s = co_await rubato::grpc_stream(stub, &echo::Stub::async::talk, context, sits);
  co_return answered(std::move(s), std::string());
}

struct grpc_stream_stops : beside_server<stream_server> {
  [[nodiscard]] bool handlers_have_ended(int n = 1) {
    return eventually([&] { return server.begun == n && server.ended == n; });
  }
  /// The task, which is at a certain point when is_there() is true, ends by stop(its future) at both sides.
  template<class Task, class IsThere, class Stop>
  void expect_end_at_both_sides(rubato::pool& p, Task t, IsThere is_there, Stop stop) {
    auto f = p.spawn(std::move(t));
    ASSERT_TRUE(eventually(is_there));
    stop(f);
    EXPECT_THROW(f.get(), rubato::cancelled);
    EXPECT_TRUE(handlers_have_ended());
  }
  auto has_read(int n) {
    return [this, n] { return server.read >= n; };
  }
  auto has_begun() {
    return [this] { return server.begun == 1; };
  }
};
constexpr auto cancel = [](auto& f) { f.cancel(); };

TEST_P(grpc_stream_stops, stopped_task_sends_nothing) {
  auto const late = [](echo::Stub& to) -> rubato::task<answered> {
    while (!rubato::this_task_stop_token().stop_requested()) co_await rubato::yield();
    co_return co_await list(to, "3");
  };
  auto f = pool.spawn(late(*stub));
  f.cancel();
  EXPECT_THROW(f.get(), rubato::cancelled);
  // Were it sent, it would have arrived before this one.
  EXPECT_TRUE(pool.block_on(list(*stub, "3")).status.ok());
  EXPECT_EQ(server.begun, 1);
}

TEST_P(grpc_stream_stops, cancel_during_a_read_ends_both_sides) {
  expect_end_at_both_sides(pool, list(*stub, "wait"), has_begun(), cancel);
  EXPECT_EQ(server.stopped, 1);
}

TEST_P(grpc_stream_stops, cancel_while_messages_flow_ends_both_sides) {
  expect_end_at_both_sides(pool, list(*stub, "forever"), [&] { return server.written > 5; }, cancel);
}

TEST_P(grpc_stream_stops, cancel_during_a_write_ends_both_sides) {
  expect_end_at_both_sides(pool, gather_on(*stub), has_read(1), cancel);
  EXPECT_EQ(server.stopped, 1);
}

TEST_P(grpc_stream_stops, cancel_before_the_status_ends_both_sides) {
  expect_end_at_both_sides(pool, gather(*stub, 1, "wait"), has_read(1), cancel);
}

TEST_P(grpc_stream_stops, cancel_of_two_tasks_ends_both_sides) {
  expect_end_at_both_sides(pool, talk(*stub, 1'000'000, "x"), has_read(5), cancel);
}

TEST_P(grpc_stream_stops, cancel_beside_another_wait_ends_both_sides) {
  sitter one;
  expect_end_at_both_sides(pool, sit_beside(*stub, one), [&] { return one.sits == 1; }, cancel);
  EXPECT_EQ(one.stopped, 1);
}

TEST_P(grpc_stream_stops, drain_of_the_pool_ends_the_call) {
  expect_end_at_both_sides(pool, talk(*stub, 1, "wait"), has_read(1), [&](auto& /*f*/) { pool.shutdown(); });
}

TEST_P(grpc_stream_stops, discard_of_the_pool_ends_the_call) {
  expect_end_at_both_sides(pool, talk(*stub, 1, "wait"), has_read(1),
                           [&](auto& /*f*/) { pool.shutdown(rubato::discard); });
}

TEST_P(grpc_stream_stops, drain_ends_a_call_beside_another_wait) {
  sitter one;
  auto f = pool.spawn(sit_beside(*stub, one));
  ASSERT_TRUE(eventually([&] { return one.sits == 1; }));
  pool.shutdown(); // destroys the body, which waits for no time and no I/O
  EXPECT_TRUE(f.ready());
  EXPECT_ANY_THROW(f.get());
  EXPECT_TRUE(handlers_have_ended());
}

TEST_P(grpc_stream_stops, discard_ends_a_call_beside_another_wait) {
  sitter one;
  expect_end_at_both_sides(
      pool, sit_beside(*stub, one), [&] { return one.sits == 1; },
      [&](auto& /*f*/) { pool.shutdown(rubato::discard); });
}

TEST_P(grpc_stream_stops, pool_that_goes_ends_the_call) {
  std::optional<rubato::pool> own(std::in_place, GetParam());
  expect_end_at_both_sides(*own, gather_on(*stub), has_read(1), [&](auto& f) {
    own.reset();
    EXPECT_TRUE(f.ready());
  });
}

TEST_P(grpc_stream_stops, read_that_loses_a_race_cancels_the_call) {
  grpc::ClientContext context;
  words question;
  question.set_text("wait");
  auto const timed = [](rubato::grpc_reader<words>& in) -> rubato::task<void> {
    words next;
    auto const r = co_await rubato::with_deadline(in.read(next), 20ms);
    EXPECT_FALSE(r.has_value());
    bool const more = co_await in.read(next);
    EXPECT_FALSE(more);
  };
  auto const s =
      pool.block_on(rubato::grpc_stream(*stub, &echo::Stub::async::list, context, question, timed));
  EXPECT_EQ(s.error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(eventually([&] { return server.begun == server.ended; }));
}

TEST_P(grpc_stream_stops, read_in_time_goes_on) {
  grpc::ClientContext context;
  words question;
  question.set_text("3");
  auto const timed = [](rubato::grpc_reader<words>& in) -> rubato::task<void> {
    words next;
    for (int i = 0; i != 4; ++i) {
      auto const r = co_await rubato::with_deadline(in.read(next), 60s);
      EXPECT_EQ(r, std::optional(i != 3));
    }
  };
  auto const s =
      pool.block_on(rubato::grpc_stream(*stub, &echo::Stub::async::list, context, question, timed));
  EXPECT_TRUE(s.ok()) << s.error_message();
}

TEST_P(grpc_stream_stops, hedge_cancels_the_losing_stream) {
  stream_server quick(served);
  EXPECT_EQ(hedged(pool, server, quick, &list, "4"), "0123");
  EXPECT_TRUE(handlers_have_ended());
  EXPECT_EQ(server.stopped, 1);
  EXPECT_EQ(quick.stopped, 0);
}

TEST_P(grpc_stream_stops, end_of_the_server_is_no_stop_of_the_client) {
  auto reads = pool.spawn(list(*stub, "wait"));
  auto writes = pool.spawn(gather_on(*stub));
  ASSERT_TRUE(eventually([&] { return server.begun == 2; }));
  server.shut_down();
  EXPECT_EQ(server.ended, 2);
  EXPECT_FALSE(reads.get().status.ok());
  EXPECT_FALSE(writes.get().status.ok());
}

TEST_P(grpc_stream_stops, server_whose_pool_ends_answers) {
  auto writes = pool.spawn(gather_on(*stub));
  auto both = pool.spawn(talk(*stub, 1, "wait"));
  ASSERT_TRUE(eventually([&] { return server.read == 2; }));
  served.shutdown(rubato::discard);
  EXPECT_EQ(writes.get().status.error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(both.get().status.error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(pool.block_on(list(*stub, "3")).status.error_code(), StatusCode::CANCELLED);
  EXPECT_EQ(pool.block_on(gather(*stub, 3, "x")).status.error_code(), StatusCode::CANCELLED);
}

TEST_P(grpc_stream_stops, drain_of_the_servers_pool_ends_its_reads) {
  auto const keeps_open = [](echo::Stub& to) -> rubato::task<StatusCode> {
    grpc::ClientContext context;
    auto const reads = [](rubato::grpc_reader<words>& in,
                          rubato::grpc_client_writer<words>& out) -> rubato::task<void> {
      words part;
      part.set_text("any");
      co_await out.write(part);
      for (bool more = co_await in.read(part); more; more = co_await in.read(part)) {
      }
    };
    auto const s = co_await rubato::grpc_stream(to, &echo::Stub::async::talk, context, reads);
    co_return s.error_code();
  };
  auto f = pool.spawn(keeps_open(*stub));
  ASSERT_TRUE(eventually([&] { return server.written == 1; }));
  served.shutdown(); // the handler waits for a message that never comes
  EXPECT_EQ(f.get(), StatusCode::CANCELLED);
  EXPECT_EQ(server.ended, 1);
}

TEST_P(grpc_stream_stops, stop_at_any_moment_yields_all_or_cancelled) {
  int const n = static_cast<int>(scaled(150));
  int answers = 0, stops = 0;
  for (int i = 0; i != n; ++i) {
    rubato::task<answered> t;
    if (i % 3 == 0) t = list(*stub, "4");
    if (i % 3 == 1) t = gather(*stub, 2, "ab");
    if (i % 3 == 2) t = talk(*stub, 2, "ab");
    auto f = pool.spawn(std::move(t));
    // From before the call begins to after its end.
    for (int spins = 0; spins != i % 50; ++spins) std::this_thread::yield();
    if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(2 * i));
    f.cancel();
    try {
      answered const a = f.get();
      EXPECT_TRUE(a.status.ok()) << a.status.error_message();
      EXPECT_EQ(a.text.size(), 4U);
      ++answers;
    } catch (rubato::cancelled const&) {
      ++stops;
    }
  }
  EXPECT_EQ(answers + stops, n);
  EXPECT_TRUE(eventually([&] { return server.begun == server.ended; }));
}

TEST_P(grpc_stream_stops, many_stops_beside_the_ends) {
  int const rounds = static_cast<int>(scaled(6));
  for (int i = 0; i != rounds; ++i) {
    std::atomic<int> over{0};
    auto const one = [](echo::Stub& to, int kind, std::atomic<int>& sum) -> rubato::task<void> {
      try {
        rubato::task<answered> t;
        if (kind == 0) t = list(to, "4");
        if (kind == 1) t = gather(to, 2, "ab");
        if (kind == 2) t = talk(to, 2, "ab");
        answered const a = co_await std::move(t);
        EXPECT_EQ(a.text.size(), 4U);
      } catch (rubato::cancelled const&) {
      }
      ++sum;
    };
    int begun = 0;
    rubato::with_scope(pool, [&](rubato::scope& s) {
      for (; begun != 30; ++begun) s.spawn(one(*stub, begun % 3, over));
      while (over < 2 * i) std::this_thread::yield();
      s.request_stop();
    });
    EXPECT_LE(over, begun); // those that had not begun never do
  }
}

TEST_P(grpc_stream_stops, pools_end_at_any_moment) {
  int const rounds = static_cast<int>(scaled(30));
  for (int i = 0; i != rounds; ++i) {
    sitter one;
    std::optional<rubato::pool> own(std::in_place, GetParam());
    auto first = own->spawn(talk(*stub, 3, "ab"));
    auto second = own->spawn(gather_on(*stub));
    auto third = own->spawn(sit_beside(*stub, one));
    for (int spins = 0; spins != i * 3; ++spins) std::this_thread::yield();
    if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(30 * i));
    if (i % 2 == 0) own->shutdown(rubato::discard);
    own.reset();
    EXPECT_TRUE(first.ready() && second.ready() && third.ready());
  }
  EXPECT_TRUE(eventually([&] { return server.begun == server.ended; }));
}

TEST_P(grpc_stream_stops, servers_come_and_go_under_load) {
  std::atomic<bool> over{false};
  auto const streams = [](echo::Stub& to, std::atomic<bool> const& end) -> rubato::task<void> {
    while (!end) {
      answered const a = co_await talk(to, 3, "ab");
      EXPECT_TRUE(!a.status.ok() || a.text == "ababab");
    }
  };
  {
    stream_server own(served);
    std::unique_ptr<echo::Stub> const to = own.stub();
    rubato::with_scope(pool, [&](rubato::scope& s) {
      for (int i = 0; i != 8; ++i) s.spawn(streams(*to, over));
      EXPECT_TRUE(eventually([&] { return own.begun > 20; }));
      own.shut_down();
      over = true;
    });
  }
  EXPECT_TRUE(pool.block_on(list(*stub, "3")).status.ok());
}

RUBATO_TEST_WITH_WORKERS(grpc_stream_stops, counts_with_workers);

} // namespace
} // namespace rubato_test
