// What must be the same whether or not it is traced.
#pragma once

#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace rubato_test {

/// In which order one worker runs what is enqueued.
[[nodiscard]] inline std::vector<int> order_of_one_worker() {
  rubato::pool pool(1);
  std::vector<int> order;
  for (int i = 0; i < 1'000; ++i) pool.enqueue([&order, i] { order.push_back(i); });
  EXPECT_TRUE(pool.wait_idle());
  return order;
}

} // namespace rubato_test
