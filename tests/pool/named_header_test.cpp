// The header that the contract names for the pool brings all that belongs to it.
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

namespace {

TEST(named_header, brings_what_belongs_to_a_pool) {
  rubato::pool pool(1);
  rubato::strand strand(pool);
  rubato::per_worker<int> counts(pool);
  strand.spawn([&] { ++counts.local(); }).get();
  int sum = rubato::spawn(pool, [] { return 1; }).get() + rubato::submit(pool, [] { return 1; }).get();
  counts.for_each([&](int n) { sum += n; });
  EXPECT_EQ(sum, 3);
  static_cast<void>(rubato::deterministic);
}

} // namespace
