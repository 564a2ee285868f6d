// Start, stop and snapshot; what a trace must not change.
#include <rubato/pool.hpp>
#include <rubato/trace.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "one_worker.hpp"
#include "support/scale.hpp"
#include "support/trees.hpp"
#include "trace_files.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::detail::event_kind;
using rubato::detail::recording;

TEST(trace, records_and_converts) {
  trace_path const path;
  {
    trace_on const on(path);
    rubato::pool pool(2);
    for (int i = 0; i < 100; ++i) pool.enqueue([] {});
    EXPECT_TRUE(pool.wait_idle());
  }
  EXPECT_GT(std::filesystem::file_size(path.get()), 1'000U);
  recording const r(path.rings());
  EXPECT_EQ(count_of(r, event_kind::begin), 100U);
  EXPECT_EQ(count_of(r, event_kind::ready), 100U);
  EXPECT_EQ(count_of(r, event_kind::joined), 2U);
}

TEST(trace, is_off_before_the_start_and_after_the_stop) {
  trace_path const path;
  EXPECT_NO_THROW(rubato::trace::stop());
  EXPECT_THROW(rubato::trace::snapshot(path.get()), std::logic_error);
  {
    trace_on const on(path);
    EXPECT_THROW(rubato::trace::start(path.get()), std::logic_error);
  }
  EXPECT_THROW(rubato::trace::start("/nonexistent/folder/t"), std::system_error);
  EXPECT_EQ(rubato::detail::trace_levels.get(), 0);
}

TEST(trace, a_snapshot_leaves_the_trace_on) {
  trace_path const path;
  trace_on const on(path);
  rubato::pool pool(1);
  pool.spawn([] {}).get();
  std::string const copy = path.get() + ".now";
  rubato::trace::snapshot(copy);
  EXPECT_GT(std::filesystem::file_size(copy), 100U);
  std::size_t const before = events_in(recording(path.rings()));
  pool.spawn([] {}).get();
  EXPECT_GT(events_in(recording(path.rings())), before);
}

TEST(trace, starts_anew_with_the_same_threads) {
  rubato::pool pool(2);
  for (int round = 0; round < 5; ++round) {
    trace_path const path;
    {
      trace_on const on(path);
      EXPECT_EQ(pool.run([] { return forked_sum(0, 1'000); }), sum_below(1'000));
      for (int i = 0; i < 50; ++i) pool.enqueue([] {});
      EXPECT_TRUE(pool.wait_idle());
    }
    EXPECT_EQ(count_of(recording(path.rings()), event_kind::ready), 50U);
  }
}

TEST(trace, knows_the_workers_of_a_pool_that_was_there_before) {
  rubato::pool pool(1);
  pool.spawn([] {}).get();
  trace_path const path;
  {
    trace_on const on(path);
    for (int i = 0; i < 50; ++i) pool.enqueue([] {});
    EXPECT_TRUE(pool.wait_idle());
  }
  EXPECT_EQ(count_of(recording(path.rings()), event_kind::joined), 1U);
}

TEST(trace, starts_and_stops_beside_work) {
  rubato::pool pool(3);
  std::atomic<bool> stop = false;
  std::thread worker([&] {
    while (!stop) {
      EXPECT_EQ(pool.run([] { return forked_sum(0, 300); }), sum_below(300));
      pool.enqueue([] {});
    }
  });
  for (unsigned round = scaled(30); round != 0; --round) {
    trace_path const path;
    {
      trace_on const on(path);
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_NO_THROW(recording{path.rings()});
  }
  stop = true;
  worker.join();
}

TEST(trace, rings_of_ended_threads_are_used_again) {
  trace_path const path;
  trace_on const on(path);
  for (int i = 0; i < 200; ++i) std::thread([] { rubato::trace::span const s("brief"); }).join();
  recording const r(path.rings());
  EXPECT_LE(r.rings.size(), 66U);
  EXPECT_GE(r.rings.size(), 64U);
}

TEST(trace, an_idle_pool_records_nothing) {
  trace_path const path;
  trace_on const on(path);
  rubato::pool pool(2);
  EXPECT_EQ(pool.run([] { return forked_sum(0, 1'000); }), sum_below(1'000));
  std::size_t before = 0, now = events_in(recording(path.rings()));
  do {
    before = now;
    std::this_thread::sleep_for(100ms);
    now = events_in(recording(path.rings()));
  } while (now != before); // hangs if it never rests
}

TEST(trace, changes_no_result_and_no_order) {
  std::vector<int> const without = order_of_one_worker();
  trace_path const path;
  trace_on const on(path);
  EXPECT_EQ(order_of_one_worker(), without);
  rubato::pool pool(4);
  EXPECT_EQ(pool.run([] { return forked_sum(0, 20'000); }), sum_below(20'000));
}

} // namespace
