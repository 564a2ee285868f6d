// The numbers of workers that everything must hold for, and the fixture that tests share.
#pragma once

#include <gtest/gtest.h>

#include "support/hang_guard.hpp"
#include "support/with_workers.hpp"

#include <rubato/thread_pool.hpp>

#include <array>

namespace rubato_test {

/// None, one, a pair, an odd number, and far more than there are cores.
inline constexpr std::array all_counts{0U, 1U, 2U, 7U, 33U};
inline constexpr std::array counts_with_workers{1U, 2U, 7U, 33U};
inline constexpr std::array counts_in_parallel{2U, 7U, 33U};
inline constexpr std::array counts_alone{0U, 1U};

/// A test that runs with a pool of so many workers. Bodies that need a thread of the pool use pool.run().
class on_workers : public testing::TestWithParam<unsigned> {
protected:
  hang_guard guard;
  rubato::pool pool{with_workers(GetParam())};
};

/// Calls f on the only thread of a pool with one worker or none. In a task: a thread from outside that calls
/// run() may run beside a worker that has not gone to sleep yet.
template<class F>
void on_only_thread(rubato::pool& pool, F f) {
  pool.enqueue(f);
  pool.wait_idle();
}

} // namespace rubato_test

#define RUBATO_TEST_WITH_WORKERS(fixture, counts)                                                            \
  INSTANTIATE_TEST_SUITE_P(workers, fixture, testing::ValuesIn(rubato_test::counts),                         \
                           testing::PrintToStringParamName())
