// How many items of a loop a thread takes at once. docs/design/loops.md
//
// No product here overflows: a chunk has at most 2^12 items, and some hundred microseconds are less than 2^31
// ticks. What a chunk took is a time that nothing bounds, so it is compared or divided by, and not
// multiplied.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rubato::detail {

/// The chunks of one thread: the first one has one item, and they grow up to `Most` while they are brief.
template<std::uint32_t Most>
class basic_chunk_size {
  static_assert(Most <= 4096);
  std::uint32_t wanted_ = 1;

public:
  static constexpr std::int64_t brief_us = 50; // guarantee H

  [[nodiscard]] constexpr std::uint32_t wanted() const noexcept { return wanted_; }
  /// At most the thread's share of the items that are left. So chunks shrink towards the end, down to one
  /// item, and a slow item hides at most its share behind it, however short the items before it were.
  [[nodiscard]] constexpr std::uint32_t of(std::uint32_t left, std::uint32_t threads) const noexcept {
    return std::min(wanted_, threads == 1 ? left : std::max(1U, left / threads)); // a division is not free
  }
  /// A chunk of `size` items took so long. `brief`: the ticks in `brief_us` microseconds.
  constexpr void learn(std::uint32_t size, std::int64_t took, std::int64_t brief) noexcept {
    if (took < brief)
      wanted_ = std::min(wanted_ * (took < brief / 8 ? 4 : 2), Most);
    else // as many of these items as are brief
      wanted_ = static_cast<std::uint32_t>(std::max(std::int64_t{1}, size * brief / took));
  }
};

using chunk_size = basic_chunk_size<4096>;

/// Long chunks and shares end at multiples of it. Then the vectors of a loop over numbers in an array lie as
/// they do in a serial loop, and two threads seldom write to one cache line.
inline constexpr std::uint32_t even_items = 16;

/// As many of the `left` items from lo on as end there: at most n, which may be all that are left.
[[nodiscard]] constexpr std::uint32_t ending_even(std::uint32_t lo, std::uint32_t n,
                                                  std::uint32_t left) noexcept {
  return n < 8 * even_items || n == left ? n : n - (lo + n) % even_items;
}
/// Where the back half of [lo, hi) begins.
[[nodiscard]] constexpr std::uint32_t even_middle(std::uint32_t lo, std::uint32_t hi) noexcept {
  std::uint32_t const half = (hi - lo) / 2;
  return lo + ending_even(lo, half, hi - lo);
}

/// A loop that expects more work than that wakes a thread for it at once.
inline constexpr std::int64_t worth_a_wake_us = 100;

/// True if `left` items will take longer than `limit`, as `size` of them took so long.
[[nodiscard]] constexpr bool outlasts(std::int64_t limit, std::uint32_t left, std::uint32_t size,
                                      std::int64_t took) noexcept {
  std::int64_t const enough = limit * size; // below 2^31: if the items took longer, one more is enough
  return static_cast<std::uint64_t>(std::clamp(took, std::int64_t{0}, enough + 1)) * left >
         static_cast<std::uint64_t>(enough);
}

} // namespace rubato::detail
