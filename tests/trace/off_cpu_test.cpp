// Threads that are busy by their events, and do not run: what the kernel has counted. docs/design/trace.md
#include <rubato/pool.hpp>
#include <rubato/task.hpp>
#include <rubato/trace.hpp>
#include <rubato/when.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "trace/reader/convert.hpp"
#include "trace/reader/file/recording.hpp"
#include "trace_files.hpp"

namespace rubato_test {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

void sleep_in_the_kernel() { std::this_thread::sleep_for(300ms); }

TEST(off_cpu, a_task_that_sleeps_in_the_kernel_is_named) {
  trace_path const path;
  {
    trace_on const on(path);
    rubato::pool pool(1);
    pool.enqueue(&sleep_in_the_kernel);
    EXPECT_TRUE(pool.wait_idle());
  }
  std::string const text = rubato::detail::report_of_rings(path.rings());
  EXPECT_THAT(text, ContainsRegex("Busy, but not on a CPU\n[^\n]*\n[^\n]*%[^\n]*sleep_in_the_kernel"))
      << text;
  EXPECT_THAT(text, ContainsRegex("verdict: (mostly blocked|too few CPUs)")) << text;
  rubato::detail::convert_options part;
  part.from = 1ns;
  EXPECT_THAT(rubato::detail::report_of_rings(path.rings(), part),
              HasSubstr("known for the whole trace only"));
}

TEST(off_cpu, each_thread_has_its_share_alive_or_ended) {
  trace_path const path;
  rubato::pool living(1);
  {
    trace_on const on(path);
    living.spawn([] {}).get();
    rubato::pool ended(1);
    ended.spawn([] {}).get();
  }
  rubato::detail::recording const r(path.rings());
  auto const share_is_known = [](auto const& ring) { return ring.on_cpu >= 0; };
  EXPECT_TRUE(std::ranges::all_of(r.rings, share_is_known));
  EXPECT_GE(r.rings.size(), 2U);
}

TEST(off_cpu, a_snapshot_has_the_shares_too) {
  trace_path const path;
  trace_on const on(path);
  rubato::pool pool(1);
  pool.spawn([] {}).get();
  rubato::trace::snapshot(path.get() + ".now");
  rubato::detail::recording const r(path.rings());
  EXPECT_TRUE(std::ranges::any_of(r.rings, [](auto const& ring) { return ring.on_cpu >= 0; }));
}

std::atomic<int> members_begun{0};

/// Each waits until the other has begun, so they run on two threads.
rubato::task<int> meets_the_other(int n) {
  members_begun.fetch_add(1);
  while (members_begun.load() < 2) std::this_thread::yield();
  co_return n;
}

/// It was called by the library's function that began it.
TEST(off_cpu, regression_a_member_on_another_thread_has_its_name) {
  trace_path const path;
  {
    trace_on const on(path);
    rubato::pool pool(2);
    members_begun.store(0);
    auto const [a, b] = pool.block_on(rubato::when_all(meets_the_other(1), meets_the_other(2)));
    EXPECT_EQ(a + b, 3);
  }
  std::string const text = rubato::detail::report_of_rings(path.rings());
  EXPECT_THAT(text, HasSubstr("meets_the_other(int)")) << text;
  EXPECT_THAT(text, Not(HasSubstr("run_elsewhere"))) << text;
  EXPECT_THAT(text, Not(HasSubstr("await_borrowed"))) << text;
}

} // namespace rubato_test
