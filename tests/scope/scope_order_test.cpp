// Which child of a scope begins first.
#include "support/pools.hpp"

#include <rubato/scope.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <vector>

namespace rubato_test {
namespace {

TEST(scope_order, is_that_of_the_spawns_or_the_newest_first) {
  hang_guard const guard;
  for (bool const newest : {false, true}) {
    rubato::pool pool(rubato::no_workers); // the waiting thread is the only one
    std::vector<int> begun;
    rubato::with_scope(pool, [&](rubato::scope& s) {
      if (newest) s.begin_newest_first();
      for (int i = 0; i != 5; ++i)
        s.spawn([&begun, &s, i] {
          begun.push_back(i);
          if (i == 2) s.spawn([&begun] { begun.push_back(9); });
        });
    });
    EXPECT_EQ(begun, newest ? (std::vector{4, 3, 2, 9, 1, 0}) : (std::vector{0, 1, 2, 3, 4, 9}));
  }
}

using scope_orders = on_workers;
RUBATO_TEST_WITH_WORKERS(scope_orders, all_counts);

TEST_P(scope_orders, newest_first_loses_no_child) {
  for (int round = 0; round != 20; ++round) {
    std::atomic<int> ran{0};
    rubato::task_group group(pool);
    group.begin_newest_first();
    std::function<void(int)> const grow = [&](int depth) {
      ++ran;
      for (int i = 0; depth != 0 && i != 3; ++i) group.spawn([&grow, depth] { grow(depth - 1); });
    };
    grow(4);
    group.wait();
    EXPECT_EQ(ran, 121);
  }
}

} // namespace
} // namespace rubato_test
