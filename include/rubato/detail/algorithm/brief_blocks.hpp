// Loops over blocks that are brief as a rule: few of them do not wake a pool that sleeps.
//
// A wake costs the caller some 10 us, and the woken thread comes some 50 us later: too late for less work
// than that. So the caller begins alone if the pool sleeps, and shares the rest when it turns out to be worth
// a wake.
#pragma once

#include "rubato/detail/algorithm/blocks.hpp"
#include "rubato/detail/algorithm/pieces.hpp"
#include "rubato/detail/fork/chunk_size.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace rubato {
class pool;
}

namespace rubato::detail {

/// True if `left` elements will take more than so many microseconds, as `size` took so long.
[[nodiscard]] inline bool will_outlast(std::int64_t us, std::uint64_t left, std::uint32_t size,
                                       std::int64_t took) {
  constexpr std::uint64_t many = std::numeric_limits<std::uint32_t>::max();
  return detail::outlasts(us * ticks_per_us(), static_cast<std::uint32_t>(std::min(left, many)), size, took);
}

/// While the pool sleeps and a wake is not worth it, calls step(i) for i = 0, 1, ... below n, until it
/// returns false. Returns how many steps were made. Each step is brief as a rule.
template<class Step>
std::uint64_t step_alone(pool* p, std::uint64_t n, Step const& step) {
  if (!detail::sleeps(p)) return 0;
  constexpr std::int64_t warm_us = 20; // the first steps wait for memory, and say little about the others
  std::int64_t const begin = tick_count();
  for (std::uint64_t i = 0; i != n;) {
    throw_if_stopped();
    bool const go_on = step(i++);
    std::int64_t const took = tick_count() - begin;
    if (!go_on || (took > warm_us * ticks_per_us() &&
                   detail::will_outlast(worth_a_wake_us, n - i, static_cast<std::uint32_t>(i), took)))
      return i;
  }
  return n;
}

/// for_blocks() of blocks that are brief as a rule. Few of them do not wake a pool that sleeps.
template<class F>
void for_brief_blocks(pool* p, std::uint64_t n, std::uint64_t block, F&& f) {
  std::uint64_t const alone =
      block * detail::step_alone(p, n / block + (n % block != 0), [&](std::uint64_t i) {
        f(i * block, std::min(n, (i + 1) * block));
        return true;
      });
  if (alone < n)
    detail::for_blocks(p, n - alone, block,
                       [&f, alone](std::uint64_t lo, std::uint64_t hi) { f(alone + lo, alone + hi); });
}

} // namespace rubato::detail
