// A strand over fork(): what it had begun never ends in the child.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <thread>

#include "support/process.hpp"
#include "support/scale.hpp"

namespace {

using namespace rubato_test;

TEST(strand_after_fork, regression_busy_before_it_works_afterwards) {
  if (under_tsan) GTEST_SKIP() << "ThreadSanitizer does not follow a fork";
  rubato::pool pool(2);
  rubato::strand strand(pool);
  std::atomic<bool> begun{false}, ended{false};
  auto first = strand.spawn([&] {
    begun = true;
    while (!ended) std::this_thread::yield();
    return 1;
  });
  auto second = strand.spawn([] { return 2; });
  while (!begun) std::this_thread::yield();
  int const child = ::fork();
  if (child == 0) {
    kill_this_process_if_it_hangs();
    bool broken = false;
    int const third = strand.spawn([] { return 3; }).get();
    try {
      static_cast<void>(second.get());
    } catch (std::future_error const&) {
      broken = true;
    }
    int const fourth = strand.spawn([] { return 4; }).get();
    std::_Exit(third == 3 && broken && fourth == 4 ? 0 : 1);
  }
  EXPECT_EQ(wait_for_child(child), 0);
  ended = true;
  EXPECT_EQ(first.get(), 1);
  EXPECT_EQ(second.get(), 2);
  EXPECT_EQ(strand.spawn([] { return 5; }).get(), 5);
}

} // namespace
