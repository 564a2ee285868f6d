// Stacks are bounded by the depth of the serial program, however many tasks there are and whichever thread
// waits for which work.
#include <gtest/gtest.h>

#include "support/jitter.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/stack_meter.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/join.hpp>
#include <rubato/scope.hpp>
#include <rubato/thread_pool.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

using namespace rubato_test;

namespace {

class stack_growth : public on_workers {};
RUBATO_TEST_WITH_WORKERS(stack_growth, all_counts);

/// Room for what a wait itself puts on the stack, many times over.
constexpr std::size_t slack = std::size_t{256} << 10;

std::uint64_t tree(int depth, std::uint32_t seed, stack_meter& meter) {
  meter.touch();
  if (depth == 0) {
    if (seed % 64 == 0) jitter::spin(std::chrono::microseconds(10)); // so that a thread waits
    return 1;
  }
  auto const mixed = seed * 2654435761U + 1;
  auto [a, b] = rubato::join([&] { return tree(depth - 1, mixed, meter); },
                             [&] { return tree(depth - 1, mixed + 1, meter); });
  return a + b;
}

std::size_t serial_extent(int depth) {
  rubato::pool alone(rubato::no_workers);
  stack_meter meter;
  alone.run([&] { return tree(depth, 1, meter); });
  return meter.extent();
}

TEST_P(stack_growth, of_joins_is_bounded_by_their_depth) {
  int const depth = under_tsan ? 13 : 17;
  stack_meter meter;
  auto const leaves = pool.run([&] { return tree(depth, 1, meter); });
  EXPECT_EQ(leaves, std::uint64_t{1} << depth);
  EXPECT_LE(meter.extent(), 8 * serial_extent(depth) + slack);
}

TEST_P(stack_growth, of_a_million_queued_joins_is_none) {
  stack_meter meter;
  std::atomic<std::uint64_t> leaves{0};
  auto const tasks = static_cast<std::uint32_t>(sized(30'000));
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      for (std::uint32_t i = 0; i != tasks; ++i) s.spawn([&, i] { leaves += tree(5, i, meter); });
    });
  });
  EXPECT_EQ(leaves.load(), std::uint64_t{tasks} * 32);
  EXPECT_LE(meter.extent(), 8 * serial_extent(5) + slack);
}

TEST_P(stack_growth, of_loops_in_loops_is_none) {
  stack_meter meter;
  std::atomic<std::uint64_t> count{0};
  int const rows = static_cast<int>(sized(20'000));
  pool.run([&] {
    rubato::for_index(0, rows, [&](int) {
      rubato::for_index(0, 8, [&](int) {
        meter.touch();
        ++count;
      });
    });
  });
  EXPECT_EQ(count.load(), static_cast<std::uint64_t>(rows) * 8);
  EXPECT_LE(meter.extent(), slack);
}

TEST_P(stack_growth, of_scopes_waited_for_again_and_again_is_none) {
  stack_meter meter;
  std::atomic<std::uint64_t> count{0};
  std::size_t const waits = sized(20'000);
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      for (std::size_t i = 0; i != waits; ++i) {
        for (int k = 0; k != 4; ++k) {
          s.spawn([&] {
            meter.touch();
            ++count;
          });
        }
        s.wait();
      }
    });
  });
  EXPECT_EQ(count.load(), waits * 4);
  EXPECT_LE(meter.extent(), slack);
}

} // namespace
