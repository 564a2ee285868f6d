// What tests of hedged calls share.
#pragma once

#include "support/rendezvous.hpp"

#include <rubato/race.hpp>
#include <rubato/spawn.hpp>

#include <gtest/gtest.h>

#include <sched.h>
#include <vector>

namespace rubato_test {

inline rubato::race_options unpinned(unsigned n) { return rubato::race_options().runners(n).pin(false); }

/// Calls test(call) for race and for hedge.
template<class F>
void for_both(F const& test) {
  {
    SCOPED_TRACE("race");
    test(rubato::race);
  }
  {
    SCOPED_TRACE("hedge");
    test(rubato::hedge);
  }
}

/// While it lives, a task keeps each worker.
class busy_workers {
  milestone over_;
  arrivals begun_;
  std::vector<rubato::future<bool>> tasks_;

public:
  busy_workers(rubato::pool& pool, unsigned workers) {
    for (unsigned i = 0; i != workers; ++i)
      tasks_.push_back(pool.spawn([this] {
        begun_.arrive();
        return over_.wait();
      }));
    EXPECT_TRUE(begun_.wait_for(workers));
  }
  busy_workers(busy_workers const&) = delete;
  ~busy_workers() {
    over_.reach();
    for (auto& t : tasks_) EXPECT_TRUE(t.get());
  }
};

/// The CPUs on which the calling thread may run, ascending.
inline std::vector<int> own_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> all;
  for (int i = 0; i != CPU_SETSIZE; ++i)
    if (CPU_ISSET(static_cast<unsigned>(i), &set)) all.push_back(i);
  return all;
}

} // namespace rubato_test
