// After the end of main() the global pool has been drained; what comes later is broken, not lost.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "support/outcome.hpp"
#include "support/process.hpp"

namespace {

using namespace rubato_test;

/// Dropping one continuation makes the next ready, which is dropped: not by recursion.
void work_after_the_end() {
  rubato::promise<int> p;
  rubato::future<int> f = p.get_future();
  for (int i = 0; i != 100'000; ++i) f = std::move(f).then([](int n) { return n + 1; });
  p.set_value(1);
  auto late = rubato::spawn([] { return 1; });
  leave(outcome_of_get(f) == outcome::broken && outcome_of_get(late) == outcome::broken,
        "late work is broken");
}

[[noreturn]] void end_with_work() {
  kill_this_process_if_it_hangs();
  look_for_no_leaks();
  std::atexit(&work_after_the_end); // called after the pool's own handler, which comes second
  rubato::spawn([] {}).get();
  std::exit(1); // NOLINT(concurrency-mt-unsafe)
}

using end_of_program = fresh_process;

TEST_F(end_of_program, regression_long_chains_of_late_work_break) {
  EXPECT_EXIT(end_with_work(), testing::ExitedWithCode(0), "late work is broken");
}

} // namespace
