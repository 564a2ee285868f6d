// Without memory the machine cannot be read and no pool starts: the call throws std::bad_alloc.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include "memory/failing.hpp"
#include "os/cpus/cpus.hpp"
#include "os/cpus/topology.hpp"

#include <new>

namespace {

using rubato_test::failing_allocations;

/// False: std::bad_alloc. Other exceptions fail the test.
template<class F>
bool succeeds(F f) {
  try {
    failing_allocations const some(5);
    f();
    return true;
  } catch (std::bad_alloc const&) {
    return false;
  }
}

TEST(failing_start, regression_reading_the_machine_may_throw) {
  int failed = 0;
  for (int i = 0; i != 300; ++i) {
    failed += succeeds([] { static_cast<void>(rubato::os::topology()); }) ? 0 : 1;
    failed += succeeds([] { static_cast<void>(rubato::usable_cpus()); }) ? 0 : 1;
  }
  EXPECT_GT(failed, 0);
}

TEST(failing_start, regression_an_unstarted_pool_throws_bad_alloc) {
  int failed = 0;
  for (int i = 0; i != 300; ++i)
    failed += succeeds([] { rubato::pool const pool(rubato::pool_options().workers(1).spares(0)); }) ? 0 : 1;
  EXPECT_GT(failed, 0);
}

} // namespace
