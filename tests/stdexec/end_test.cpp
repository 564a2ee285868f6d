// Operations of stdexec when the pool ends, or has ended.
#include "support/pools.hpp"
#include "support/waiting.hpp"

#include <rubato/rubato.hpp>
#include <rubato/stdexec.hpp>

#include <exec/async_scope.hpp>
#include <gtest/gtest.h>
#include <stdexec/execution.hpp>

#include <atomic>
#include <cstddef>
#include <thread>

namespace rubato_test {
namespace {

struct senders_at_end : on_workers {
  rubato::stdexec_scheduler const on_pool{pool};
  exec::async_scope scope;
  std::atomic<std::size_t> ran{0}, stopped{0};

  void spawn() {
    scope.spawn(stdexec::schedule(on_pool) | stdexec::then([this] { ++ran; }) |
                stdexec::upon_stopped([this] { ++stopped; }));
  }
  void wait_for_all() { stdexec::sync_wait(scope.on_empty()); }
};

TEST_P(senders_at_end, a_drain_runs_what_is_queued) {
  for (int i = 0; i != 500; ++i) spawn();
  pool.shutdown();
  wait_for_all();
  EXPECT_EQ(ran, 500U);
  EXPECT_EQ(stopped, 0U);
}

TEST_P(senders_at_end, a_closed_pool_stops_what_is_started) {
  pool.shutdown();
  for (int i = 0; i != 10; ++i) spawn();
  wait_for_all();
  EXPECT_EQ(ran, 0U);
  EXPECT_EQ(stopped, 10U);
  EXPECT_FALSE(stdexec::sync_wait(stdexec::schedule(on_pool)).has_value());
  pool.resize(2);
  EXPECT_TRUE(stdexec::sync_wait(stdexec::schedule(on_pool)).has_value());
}

TEST_P(senders_at_end, a_discard_stops_what_has_not_begun) {
  gate begun, end;
  for (unsigned i = 0; i != pool.size(); ++i)
    pool.enqueue([&] {
      begun.open();
      EXPECT_TRUE(end.wait());
    });
  if (pool.size() != 0) {
    ASSERT_TRUE(begun.wait());
  }
  for (int i = 0; i != 100; ++i) spawn();
  pool.request_shutdown(rubato::discard);
  end.open();
  pool.shutdown(rubato::discard);
  wait_for_all();
  EXPECT_EQ(ran + stopped, 100U);
}

TEST_P(senders_at_end, regression_a_closed_pool_stops_a_member) {
  pool.shutdown();
  rubato::membership const in = pool.join_as_member();
  spawn();
  wait_for_all();
  EXPECT_EQ(ran, 0U);
  EXPECT_EQ(stopped, 1U);
}

TEST_P(senders_at_end, regression_a_discard_ends_a_bulk) {
  constexpr int n = 1'000'000; // more than the chunks that run already
  for (bool const is_chunked : {false, true}) {
    gate begun, discards;
    std::jthread const closer([&] {
      EXPECT_TRUE(begun.wait());
      pool.request_shutdown(rubato::discard);
      discards.open();
    });
    std::atomic<int> calls{0};
    auto const call = [&] {
      begun.open();
      EXPECT_TRUE(discards.wait());
      ++calls;
    };
    auto each = stdexec::bulk(stdexec::par, n, [&](int) { call(); });
    auto chunks = stdexec::bulk_chunked(stdexec::par, n, [&](int lo, int hi) {
      for (; lo != hi; ++lo) call();
    });
    if (is_chunked)
      EXPECT_THROW(stdexec::sync_wait(stdexec::schedule(on_pool) | chunks), rubato::cancelled);
    else
      EXPECT_THROW(stdexec::sync_wait(stdexec::schedule(on_pool) | each), rubato::cancelled);
    EXPECT_LT(calls, n);
    pool.shutdown(rubato::discard);
    pool.resize(GetParam());
  }
}

TEST_P(senders_at_end, each_completes_once_beside_a_shutdown) {
  for (unsigned round = 0; round != scaled(20); ++round) {
    ran = stopped = 0;
    std::size_t const n = 200;
    std::jthread closer([&] {
      if (round % 2 == 0)
        pool.shutdown();
      else
        pool.shutdown(rubato::discard);
    });
    for (std::size_t i = 0; i != n; ++i) spawn();
    closer.join();
    wait_for_all();
    EXPECT_EQ(ran + stopped, n);
    pool.resize(GetParam());
  }
}

TEST_P(senders_at_end, a_pool_may_go_right_after_a_completion) {
  for (unsigned round = 0; round != scaled(50); ++round) {
    rubato::pool own(GetParam());
    rubato::stdexec_scheduler const on_own(own);
    EXPECT_TRUE(stdexec::sync_wait(stdexec::schedule(on_own)).has_value());
  } // right after the completion
}

RUBATO_TEST_WITH_WORKERS(senders_at_end, counts_with_workers);

} // namespace
} // namespace rubato_test
