// Whether an algorithm shares its elements out, and in what blocks.
//
// Numbers in an array are cheap to go through as a rule, and a second thread does not help with a microsecond
// of work. So few of them are done at once, without a look at any pool or clock. Of more, the first ones are
// timed: if the others will be done soon, the caller does them too. If the pool sleeps, "soon" is longer.
#pragma once

#include "rubato/detail/algorithm/blocks.hpp"
#include "rubato/detail/algorithm/brief_blocks.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <algorithm>
#include <cstdint>

namespace rubato {
class pool;
}

namespace rubato::detail {

/// Up to so many numbers in an array are not shared out, whatever is done with them.
inline constexpr std::uint64_t few_numbers = 1024;
/// Up to so many bytes are not shared out where they are only read, or read and written.
inline constexpr std::uint64_t few_bytes = 128 * 1024;
/// So much work is left to the caller; if the pool sleeps, up to worth_a_wake_us.
inline constexpr std::int64_t brief_rest_us = 10;
/// The elements between two looks at the clock meanwhile.
inline constexpr std::uint64_t alone_at_once = 4096;

/// A block of elements that user code is called for. Short where there are few, because they may be heavy.
[[nodiscard]] constexpr std::uint64_t block_of(std::uint64_t n) noexcept {
  std::uint64_t const size = std::clamp<std::uint64_t>(n / 1024, 1, 4096);
  return size < even_items ? size : size - size % even_items;
}

/// True if they will take longer than the caller should go on alone.
[[nodiscard]] inline bool is_worth_sharing(std::uint64_t left, std::uint32_t size, std::int64_t took) {
  return detail::will_outlast(brief_rest_us, left, size, took);
}

/// Calls body(lo, hi), never inline: g++ vectorises the same loop in one place, and in another one not.
template<class Body>
[[gnu::noinline]] void call_body(Body const& body, std::uint64_t lo, std::uint64_t hi) {
  body(lo, hi);
}

/// Calls body(lo, hi) for the first elements of [0, n), n > few_numbers, and returns how many that were: all,
/// if the others were done soon.
template<class Body>
std::uint64_t begin_alone(pool* p, std::uint64_t n, Body const& body) {
  std::uint64_t done = 0;
  for (std::uint32_t const size : {64U, 448U}) { // the first ones may have come from memory: twice
    std::int64_t const begin = tick_count();
    detail::call_body(body, done, done + size);
    done += size;
    std::int64_t const took = tick_count() - begin;
    if (!detail::is_worth_sharing(n - done, size, took)) {
      detail::call_body(body, done, n);
      return n;
    }
    if (took > brief_rest_us * ticks_per_us()) return done;
  }
  return detail::blocks_alone(p, done, n, alone_at_once, [&body](std::uint64_t lo, std::uint64_t hi) {
    detail::call_body(body, lo, hi);
    return true;
  });
}

/// Calls body(lo, hi) for intervals that partition [0, n), in parallel unless there is little to do.
template<bool Numbers, class Body>
void share_out(pool* p, std::uint64_t n, Body const& body) {
  std::uint64_t done = 0;
  if constexpr (Numbers) {
    if (n <= few_numbers) {
      detail::call_body(body, 0, n);
      return;
    }
    done = detail::begin_alone(p, n, body);
    if (done == n) return;
  }
  detail::for_blocks(p, n - done, block_of(n), [&body, done](std::uint64_t lo, std::uint64_t hi) {
    detail::call_body(body, done + lo, done + hi);
  });
}

/// The same for work that takes as long as the memory does: `size` bytes for each element.
template<class Body>
void share_out_bytes(pool* p, std::uint64_t n, std::uint64_t size, Body const& body) {
  constexpr std::uint64_t block_bytes = 16 * 1024;
  std::uint64_t const block = std::max<std::uint64_t>(1, block_bytes / size);
  if (n <= few_bytes / size)
    detail::call_body(body, 0, n);
  else
    detail::for_brief_blocks(
        p, n, block, [&body](std::uint64_t lo, std::uint64_t hi) { detail::call_body(body, lo, hi); });
}

} // namespace rubato::detail
