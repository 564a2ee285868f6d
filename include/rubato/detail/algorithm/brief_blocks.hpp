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
#include <utility>

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

/// While the pool sleeps and a wake is not worth it, calls f(lo, hi) for intervals of [from, n), one after
/// the other, until it returns false. Returns where the next one begins. Each is `block` long but the last
/// one, and brief as a rule.
template<class F>
std::uint64_t blocks_alone(pool* p, std::uint64_t from, std::uint64_t n, std::uint64_t block, F const& f) {
  if (!detail::sleeps(p)) return from;
  constexpr std::int64_t warm_us = 20; // the first blocks wait for memory, and say little about the others
  std::int64_t const begin = tick_count();
  std::uint64_t done = from;
  for (std::uint32_t blocks = 1; done != n; ++blocks) {
    throw_if_stopped();
    std::uint64_t const lo = std::exchange(done, done + std::min(n - done, block));
    bool const go_on = f(lo, done);
    std::int64_t const took = tick_count() - begin;
    if (!go_on || (took > warm_us * ticks_per_us() &&
                   detail::will_outlast(worth_a_wake_us, (n - done) / block + 1, blocks, took)))
      break;
  }
  return done;
}

/// for_blocks() of blocks that are brief as a rule. Few of them do not wake a pool that sleeps.
template<class F>
void for_brief_blocks(pool* p, std::uint64_t n, std::uint64_t block, F&& f) {
  std::uint64_t const alone = detail::blocks_alone(p, 0, n, block, [&f](std::uint64_t lo, std::uint64_t hi) {
    f(lo, hi);
    return true;
  });
  if (alone != n)
    detail::for_blocks(p, n - alone, block,
                       [&f, alone](std::uint64_t lo, std::uint64_t hi) { f(alone + lo, alone + hi); });
}

} // namespace rubato::detail
