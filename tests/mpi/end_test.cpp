// Stops, and the end of a pool, while requests are pending: no wait ends before its request has.
#include "own_request.hpp"

#include "support/hang_guard.hpp"
#include "support/pools.hpp"
#include "support/waiting.hpp"

#include <rubato/mpi.hpp>
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace rubato_test {
namespace {

using rubato::mpi::done;

struct mpi_end : on_workers {
  own_request request{9};
  std::atomic<bool> has_ended{false};
  std::atomic<int> tag{0};

  void end_request() {
    has_ended = true;
    request.end();
  }
  /// Its tag after the wait; -1: the wait ended too early.
  rubato::task<void> wait() {
    MPI_Status const s = co_await done(request.handle);
    tag = has_ended ? s.MPI_TAG : -1;
  }
  [[nodiscard]] rubato::future<void> begin_wait() {
    long const before = looks;
    auto f = pool.spawn(wait());
    if (pool.size() != 0) {
      EXPECT_TRUE(eventually([&] { return looks != before; }));
    }
    return f;
  }
};

TEST_P(mpi_end, stop_does_not_end_the_wait) {
  auto f = begin_wait();
  f.cancel();
  std::thread ender([&] {
    std::this_thread::sleep_for(until_others_sleep);
    end_request();
  });
  if (pool.size() != 0) {
    f.get();
    EXPECT_EQ(tag, 9);
  } else {
    EXPECT_THROW(f.get(), rubato::cancelled); // it never began
  }
  ender.join();
}

TEST_P(mpi_end, deadline_does_not_end_the_wait) {
  auto const limited = [](mpi_end& t) -> rubato::task<bool> {
    auto const s = co_await rubato::with_deadline(done(t.request.handle), 1ms);
    co_return s && s->MPI_TAG == 9 && t.has_ended;
  };
  std::thread ender([&] {
    std::this_thread::sleep_for(until_others_sleep);
    end_request();
  });
  EXPECT_TRUE(pool.block_on(limited(*this)));
  ender.join();
}

TEST_P(mpi_end, drain_waits_for_the_request) {
  if (pool.size() == 0) GTEST_SKIP() << "its end discards";
  auto f = begin_wait();
  std::thread ender([&] {
    std::this_thread::sleep_for(until_others_sleep);
    end_request();
  });
  pool.shutdown();
  EXPECT_EQ(tag, 9);
  f.get();
  ender.join();
}

TEST_P(mpi_end, discard_waits_for_the_request) {
  if (pool.size() == 0) GTEST_SKIP() << "the wait does not begin";
  auto const go_on = [](mpi_end& t) -> rubato::task<void> {
    co_await t.wait();
    co_await rubato::sleep_for(1h);
  };
  for (auto const nap : {0ms, 5ms, 25ms}) { // the poller is awake, or asleep
    if (has_ended) {
      pool.resize(GetParam());
      request = own_request(9);
    }
    has_ended = false, tag = 0;
    long const before = looks;
    auto f = pool.spawn(go_on(*this));
    EXPECT_TRUE(eventually([&] { return looks != before; }));
    std::this_thread::sleep_for(nap);
    std::thread ender([&] {
      std::this_thread::sleep_for(nap);
      end_request();
    });
    pool.shutdown(rubato::discard);
    EXPECT_EQ(tag, 9);
    EXPECT_THROW(f.get(), rubato::cancelled); // its next wait
    ender.join();
  }
}

// The first wait of a pool that discards already, and one after another.
TEST_P(mpi_end, waits_that_begin_during_a_discard) {
  if (pool.size() == 0) GTEST_SKIP() << "the task does not begin";
  std::vector<own_request> more;
  for (int i = 0; i != 3; ++i) more.emplace_back(i + 1);
  gate begun, goes_on;
  auto const all = [](std::vector<own_request>& r, gate& b, gate& g,
                      std::atomic<int>& sum) -> rubato::task<void> {
    b.open();
    EXPECT_TRUE(g.wait());
    for (own_request& each : r) {
      MPI_Status const s = co_await done(each.handle);
      sum += s.MPI_TAG;
    }
  };
  pool.enqueue(all(more, begun, goes_on, tag));
  ASSERT_TRUE(begun.wait());
  pool.request_shutdown(rubato::discard);
  std::thread ender([&] {
    goes_on.open();
    for (own_request& each : more) {
      std::this_thread::sleep_for(3ms);
      each.end();
    }
  });
  pool.shutdown(rubato::discard);
  EXPECT_EQ(tag, 6);
  ender.join();
  request.end();
  MPI_Wait(&request.handle, MPI_STATUS_IGNORE);
}

TEST_P(mpi_end, scope_waits_for_the_request_of_a_stopped_child) {
  if (pool.size() == 0) GTEST_SKIP() << "the child does not begin";
  std::thread ender([&] {
    EXPECT_TRUE(eventually([&] { return tag == 1; }));
    std::this_thread::sleep_for(5ms);
    end_request();
  });
  auto const body = [](mpi_end& t) -> rubato::task<void> {
    co_await rubato::with_async_scope([&t](rubato::scope& s) -> rubato::task<void> {
      s.spawn(t.wait());
      co_await rubato::sleep_for(5ms);
      t.tag = 1;
      s.request_stop();
    });
    EXPECT_EQ(t.tag, 9);
  };
  pool.block_on(body(*this));
  ender.join();
}

RUBATO_TEST_WITH_WORKERS(mpi_end, all_counts);

// One poller serves the pools after each other; no pool may end under it.
TEST(mpi_pools, come_and_go_with_their_requests) {
  hang_guard const guard;
  for (int round = 0; round != 300; ++round) {
    own_request r(round), s(round);
    rubato::pool one(1 + static_cast<unsigned>(round % 2));
    std::optional<rubato::pool> two(std::in_place, 1U);
    auto const wait = [](MPI_Request& h) -> rubato::task<int> { co_return (co_await done(h)).MPI_TAG; };
    auto first = one.spawn(wait(r.handle));
    auto second = two->spawn(wait(s.handle));
    s.end();
    EXPECT_EQ(second.get(), round);
    two.reset();
    r.end();
    EXPECT_EQ(first.get(), round);
  }
}

} // namespace
} // namespace rubato_test
