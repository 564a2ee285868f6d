// A pool that cannot make another thread: a waiting thread does the work that a spare would do.
#include <rubato/pool.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <fstream>
#include <system_error>

#include "support/hang_guard.hpp"
#include "support/rendezvous.hpp"

namespace {

using rubato_test::hang_guard;
using rubato_test::rendezvous;

// There is no memory for such a stack once there is a limit, but for everything else: at its first allocation
// a thread reserves 128 MiB, in the C library, and perhaps while the limit is set.
constexpr std::size_t huge_stack = std::size_t{512} << 20U;
constexpr std::size_t small_change = std::size_t{384} << 20U;

/// As long as it lives, no thread can be made with a stack of that size.
class no_memory_for_huge_stacks {
  rlimit before_{};

public:
  no_memory_for_huge_stacks() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    std::size_t const used = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    EXPECT_EQ(::getrlimit(RLIMIT_AS, &before_), 0);
    rlimit limit = before_;
    limit.rlim_cur = used + small_change;
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &limit), 0);
    EXPECT_THROW(rubato::pool(rubato::pool_options().workers(1).stack_size(huge_stack)), std::system_error);
  }
  no_memory_for_huge_stacks(no_memory_for_huge_stacks const&) = delete;
  no_memory_for_huge_stacks& operator=(no_memory_for_huge_stacks const&) = delete;
  ~no_memory_for_huge_stacks() { EXPECT_EQ(::setrlimit(RLIMIT_AS, &before_), 0); }
};

TEST(no_more_threads, regression_waiters_run_copies_of_a_broadcast) {
  hang_guard const guard;
  rubato::pool pool(rubato::pool_options().workers(2).stack_size(huge_stack));
  no_memory_for_huge_stacks const no_spares;
  rendezvous both(2);
  std::atomic<int> ran = 0;
  for (int i = 0; i < 2; ++i) {
    pool.enqueue([&] {
      EXPECT_TRUE(both.meet());
      pool.broadcast([&] { ++ran; });
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 4);
}

TEST(no_more_threads, regression_a_task_can_fill_its_own_pool) {
  hang_guard const guard;
  std::atomic<int> ran = 0;
  rubato::pool pool(rubato::pool_options().workers(1).max_queued(1).stack_size(huge_stack));
  no_memory_for_huge_stacks const no_spares;
  pool.enqueue([&] {
    for (int i = 0; i < 3; ++i) pool.enqueue([&] { ++ran; });
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 3);
}

} // namespace
