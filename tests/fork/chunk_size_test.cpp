// How many items a thread takes at once. The tests are evaluated by the compiler, which refuses an overflow.
#include <gtest/gtest.h>

#include <rubato/detail/fork/chunk_size.hpp>

#include <cstdint>
#include <limits>

namespace {

using rubato::detail::chunk_size;
using rubato::detail::ending_even;
using rubato::detail::even_middle;
using rubato::detail::outlasts;

constexpr std::int64_t ticks_per_us = 5'000; // of the fastest counter
constexpr std::int64_t brief = chunk_size::brief_us * ticks_per_us, limit = 100 * ticks_per_us;
constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t many = std::numeric_limits<std::uint32_t>::max();

/// After so many brief chunks.
constexpr chunk_size grown(int chunks) {
  chunk_size c;
  for (; chunks != 0; --chunks) c.learn(c.wanted(), 0, brief);
  return c;
}

constexpr std::uint32_t after_one_that_took(std::int64_t ticks) {
  chunk_size c = grown(10);
  c.learn(c.wanted(), ticks, brief);
  return c.wanted();
}

TEST(chunk_size, regression_no_estimate_overflows) {
  constexpr std::int64_t second = 1'000'000 * ticks_per_us;
  static_assert(outlasts(limit, many, 1, second)); // a slow first item of 2^32
  static_assert(outlasts(limit, many, 4096, longest) && outlasts(limit, 1, 4096, longest));
  static_assert(!outlasts(limit, many, 1, 0) && !outlasts(limit, many, 1, -1)); // a clock that went back
  static_assert(outlasts(limit, 101, 1, ticks_per_us) && !outlasts(limit, 100, 1, ticks_per_us));
  static_assert(outlasts(limit, 2, 4096, limit * 4096 / 2 + 1) &&
                !outlasts(limit, 2, 4096, limit * 4096 / 2));
  static_assert(after_one_that_took(longest) == 1);
  static_assert(after_one_that_took(std::numeric_limits<std::int64_t>::min()) == 4096);
}

TEST(chunk_size, follows_what_the_chunks_take) {
  static_assert(grown(0).wanted() == 1 && grown(1).wanted() == 4 && grown(10).wanted() == 4096);
  static_assert(after_one_that_took(brief) == 4096 && after_one_that_took(8 * brief) == 512);
  static_assert(after_one_that_took(5000 * brief) == 1);
}

TEST(chunk_size, regression_shrinks_to_one_with_what_is_left) {
  constexpr chunk_size c = grown(10);
  static_assert(c.of(many, 2) == 4096 && c.of(100, 4) == 25 && c.of(15, 8) == 1 && c.of(1, 8) == 1);
  static_assert(c.of(100, 1) == 100);
}

TEST(chunk_size, long_chunks_end_where_vectors_begin) {
  static_assert(ending_even(21, 64, 1'000) == 64 && ending_even(85, 256, 1'000) == 251);
  static_assert(ending_even(85, 256, 256) == 256); // all that are left
  static_assert(ending_even(336, 4096, many - 336) == 4096);
  static_assert(ending_even(many - 200, 199, 200) == 199 - (many - 1) % 16); // no overflow
}

TEST(chunk_size, a_thief_takes_at_least_half) {
  static_assert(even_middle(0, 1) == 0 && even_middle(7, 10) == 8 && even_middle(5, 205) == 105);
  static_assert(even_middle(0, 93'750) == 46'864 && even_middle(3, 259) == 128);
  static_assert(even_middle(0, many) == many / 2 / 16 * 16 && even_middle(many - 1, many) == many - 1);
}

} // namespace
