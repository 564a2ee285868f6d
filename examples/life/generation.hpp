// The next generation of a board, by one thread, by a loop that is split, and from a sequence of rows.
#pragma once

#include "board.hpp"

#include <rubato/algorithm.hpp>

#include <algorithm>
#include <cstddef>
#include <ranges>

namespace life {

enum class way { serial, parallel, bridged };

namespace detail {

inline void step_serially(const board& now, board& next) {
  for (std::size_t r = 0; r != now.rows(); ++r) next.make_row(now, r);
}

/// So many rows take some 10 us. A thread that sleeps between two frames begins later than that when it is
/// woken, and its wake costs more time of the CPU than the frame.
inline std::size_t worth_a_wake(const board& now) {
  constexpr std::size_t cells = std::size_t{1} << 16U;
  return std::max<std::size_t>(1, cells / now.columns());
}

inline void step_in_parallel(const board& now, board& next) {
  rubato::for_range(std::size_t{0}, now.rows(), rubato::min_chunk(worth_a_wake(now)),
                    [&](std::size_t lo, std::size_t hi) {
                      for (std::size_t r = lo; r != hi; ++r) next.make_row(now, r);
                    });
}

/// The rows that may have a living cell are a sequence: which one is next shows only when the ones before it
/// have been looked at. So it cannot be split; the threads take rows from it in turn, some at a time.
inline void step_bridged(const board& now, board& next) {
  for (std::size_t r = 0; r != now.rows(); ++r)
    if (!now.may_live(r)) next.clear_row(r);
  auto living = std::views::iota(std::size_t{0}, now.rows()) |
                std::views::filter([&](std::size_t r) { return now.may_live(r); });
  rubato::for_each(living, rubato::min_chunk(worth_a_wake(now)),
                   [&](std::size_t r) { next.make_row(now, r); });
}

} // namespace detail

/// Makes `next`, another board of the same size, the generation after `now`.
inline void step(const board& now, board& next, way how) {
  switch (how) {
  case way::serial:
    return detail::step_serially(now, next);
  case way::parallel:
    return detail::step_in_parallel(now, next);
  case way::bridged:
    return detail::step_bridged(now, next);
  }
}

} // namespace life
