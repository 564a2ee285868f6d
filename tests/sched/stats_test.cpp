// What the counters say about work whose amount is known.
#include <rubato/join.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "support/scale.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;

constexpr auto seat_fields = {&rubato::seat_stats::executed, &rubato::seat_stats::spawned,
                              &rubato::seat_stats::handed,   &rubato::seat_stats::taken,
                              &rubato::seat_stats::stolen,   &rubato::seat_stats::parked,
                              &rubato::seat_stats::woken,    &rubato::seat_stats::vacated,
                              &rubato::seat_stats::relieved, &rubato::seat_stats::io_events};
static_assert(sizeof(rubato::seat_stats) == (seat_fields.size() + 1) * sizeof(std::uint64_t),
              "all but `timers`, which no seat has");

std::uint64_t sum_of_seats(rubato::pool_stats const& all, std::uint64_t rubato::seat_stats::* field) {
  std::uint64_t sum = 0;
  for (auto const& seat : all.seats) sum += seat.*field;
  return sum;
}

/// The seats hold no more than the total, which has guests and threads without a seat too, and steals are
/// what went from thread to thread.
void expect_consistent(rubato::pool const& pool) {
  rubato::pool_stats const stats = pool.stats();
  for (auto const field : seat_fields) EXPECT_LE(sum_of_seats(stats, field), stats.*field);
  EXPECT_EQ(pool.steal_count(), stats.handed + stats.taken + stats.stolen);
}

TEST(stats, of_a_pool_that_has_done_nothing_are_zero) {
  rubato::pool const pool(rubato::no_workers);
  auto const stats = pool.stats();
  EXPECT_EQ(stats.executed, 0u);
  EXPECT_EQ(stats.spawned, 0u);
  EXPECT_EQ(stats.queued, 0u);
  EXPECT_EQ(pool.steal_count(), 0u);
}

TEST(stats, count_every_task_once) {
  for (unsigned workers : {0u, 1u, 4u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    std::uint64_t expected = 0;
    for (unsigned n : {1u, 10u, 5'000u}) {
      for (unsigned i = 0; i < n; ++i) pool.enqueue([] {});
      expected += n;
      ASSERT_TRUE(pool.wait_idle());
      EXPECT_EQ(pool.stats().executed, expected);
      EXPECT_EQ(pool.stats().queued, 0u);
      expect_consistent(pool);
    }
  }
}

TEST(stats, count_what_tasks_enqueue) {
  rubato::pool pool(2);
  for (int i = 0; i < 10; ++i) {
    pool.enqueue([&] {
      for (int k = 0; k < 7; ++k) pool.enqueue([] {});
    });
  }
  ASSERT_TRUE(pool.wait_idle());
  EXPECT_EQ(pool.stats().executed, 80u);
  EXPECT_EQ(pool.stats().spawned, 70u);
  expect_consistent(pool);
}

TEST(stats, of_the_seats_add_up_if_all_threads_have_one) {
  rubato::pool pool(rubato::pool_options().workers(3).spares(0));
  for (int i = 0; i < 3'000; ++i) pool.enqueue([] { forked_sum(0, 4); });
  ASSERT_TRUE(pool.wait_idle());
  auto const stats = pool.stats();
  ASSERT_EQ(stats.seats.size(), 3u);
  std::uint64_t executed = 0;
  for (auto const& seat : stats.seats) executed += seat.executed;
  EXPECT_EQ(executed, 3'000u);
  EXPECT_EQ(stats.executed, 3'000u);
}

TEST(stats, count_what_waits_in_queues) {
  rubato::pool pool(rubato::no_workers);
  for (int i = 0; i < 7; ++i) pool.enqueue([] {});
  EXPECT_EQ(pool.stats().queued, 7u);
  EXPECT_EQ(pool.stats().executed, 0u);
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(pool.stats().queued, 0u);
  EXPECT_EQ(pool.stats().executed, 7u);
}

TEST(stats, have_an_entry_per_seat) {
  rubato::pool pool(3);
  pool.broadcast([] {});
  EXPECT_EQ(pool.stats().seats.size(), 3u);
  expect_consistent(pool);
}

TEST(stats, notice_that_work_went_from_thread_to_thread) {
  // One task makes work for a second thread and waits for it: it has to be stolen, by any of the ways.
  rubato::pool pool(rubato::pool_options().workers(2).spares(0));
  std::atomic<bool> stolen = false;
  pool.enqueue([&] {
    pool.enqueue([&] { stolen = true; });
    computing_until([&] { return stolen.load(); });
  });
  ASSERT_TRUE(pool.wait_idle());
  ASSERT_TRUE(stolen);
  EXPECT_GE(pool.steal_count(), 1u);
  expect_consistent(pool);
}

TEST(stats, notice_that_a_half_of_a_join_went_to_another_thread) {
  rubato::pool pool(rubato::pool_options().workers(2).spares(0));
  std::atomic<bool> taken = false;
  pool.enqueue(
      [&] { rubato::join([&] { computing_until([&] { return taken.load(); }); }, [&] { taken = true; }); });
  ASSERT_TRUE(pool.wait_idle());
  ASSERT_TRUE(taken);
  EXPECT_GE(pool.stats().handed + pool.stats().taken, 1u);
  expect_consistent(pool);
}

TEST(stats, notice_parking_and_waking) {
  rubato::pool pool(rubato::pool_options().workers(2).search_time(0ns));
  // A worker that lost its seat during its task goes to rest for want of a seat, which is not counted here.
  auto const both_have_parked = [&] {
    bool const have = pool.stats().parked >= 2;
    if (!have) pool.broadcast([] {});
    return have;
  };
  ASSERT_TRUE(eventually(both_have_parked)) << "idle workers do not park";
  auto const before = pool.stats().woken;
  pool.enqueue([] {});
  ASSERT_TRUE(pool.wait_idle());
  EXPECT_TRUE(eventually([&] { return pool.stats().woken > before; }));
}

TEST(stats, notice_a_vacated_seat) {
  rubato::pool pool(1);
  gate opened;
  pool.enqueue([&] { rubato::blocking([&] { opened.wait(); }); });
  pool.enqueue([&] { opened.open(); });
  ASSERT_TRUE(pool.wait_idle());
  EXPECT_GE(pool.stats().vacated, 1u);
}

TEST(stats, notice_relief) {
  rubato::pool pool(1);
  gate opened;
  std::atomic<bool> passed = false;
  pool.enqueue([&] { passed = opened.wait(); });
  pool.enqueue([&] { opened.open(); });
  ASSERT_TRUE(pool.wait_idle());
  ASSERT_TRUE(passed);
  EXPECT_GE(pool.stats().relieved, 1u);
}

TEST(stats, may_be_read_at_any_time_and_never_go_back) {
  rubato::pool pool(3);
  std::atomic<int> went_back = 0;
  std::jthread reader([&](std::stop_token stop) {
    std::uint64_t executed = 0, steals = 0;
    while (!stop.stop_requested()) {
      auto const now = pool.stats().executed;
      auto const steals_now = pool.steal_count();
      went_back += now < executed || steals_now < steals;
      executed = now;
      steals = steals_now;
    }
  });
  for (unsigned i = 0; i < scaled(2'000); ++i) {
    pool.enqueue([] { forked_sum(0, 30); });
    if (i % 100 == 0) pool.resize(i / 100 % 5 + 1);
  }
  EXPECT_TRUE(pool.wait_idle());
  reader = {};
  EXPECT_EQ(went_back, 0);
  expect_consistent(pool);
}

/// Calls stats() all the time, in a thread of its own, and counts how often the seats held more than the
/// total.
class auditor {
  rubato::pool const& pool_;
  std::atomic<int> wrong_ = 0;
  std::jthread thread_{[this](std::stop_token stop) {
    while (!stop.stop_requested()) wrong_ += seats_exceed(pool_.stats());
  }};

  static bool seats_exceed(rubato::pool_stats const& all) {
    bool exceed = false;
    for (auto const field : seat_fields) exceed |= sum_of_seats(all, field) > all.*field;
    return exceed;
  }

public:
  explicit auditor(rubato::pool const& pool)
      : pool_(pool) {}
  int stop() {
    thread_ = {};
    return wrong_;
  }
};

TEST(stats, regression_of_the_seats_never_exceed_the_total) {
  rubato::pool pool(rubato::pool_options().workers(2).search_time(0ns));
  auditor audit(pool);
  for (unsigned i = 0; i < scaled(20'000); ++i) {
    pool.enqueue([] { rubato::join([] {}, [] {}); });
    pool.enqueue([] { rubato::blocking([] {}); });
    if (i % 10 != 0) continue;
    EXPECT_TRUE(pool.wait_idle()); // the workers park, and are woken again
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(audit.stop(), 0);
}

TEST(stats, survive_a_resize_to_nothing_and_back) {
  rubato::pool pool(4);
  for (int i = 0; i < 500; ++i) pool.enqueue([] {});
  ASSERT_TRUE(pool.wait_idle());
  pool.resize(0);
  EXPECT_EQ(pool.stats().executed, 500u);
  pool.resize(2);
  for (int i = 0; i < 500; ++i) pool.enqueue([] {});
  ASSERT_TRUE(pool.wait_idle());
  EXPECT_EQ(pool.stats().executed, 1'000u);
}

} // namespace
