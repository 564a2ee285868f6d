// How many ways n queens stand on a board of n rows without a quarrel. One fork for every queen that can be
// set; each has its own copy of the board.
#pragma once

#include "fib.hpp"

#include <array>

namespace bench {

struct board {
  std::array<std::int8_t, 16> column{}; ///< of the queen in each row

  bool free(unsigned row, int col) const {
    for (unsigned r = 0; r != row; ++r) {
      const int distance = column[r] - col;
      const int rows = static_cast<int>(row - r);
      if (distance == 0 || distance == rows || distance == -rows) return false;
    }
    return true;
  }
};

template<class R>
[[gnu::noinline]] std::uint64_t queens_from(const board& b, unsigned row, unsigned n) {
  if (row == n) return 1;
  std::array<std::int8_t, 16> open{};
  unsigned count = 0;
  for (unsigned col = 0; col != n; ++col)
    if (b.free(row, static_cast<int>(col))) open[count++] = static_cast<std::int8_t>(col);
  return R::sum(count, [&, row, n](std::uint64_t i) {
    board next = b;
    next.column[row] = open[i];
    return queens_from<R>(next, row + 1, n);
  });
}

template<class R>
measurement nqueens(R& r, std::uint64_t n) {
  warm_up(r);
  measurement m;
  r.run([&] { m = timed(1, [&] { return queens_from<R>(board{}, 0, static_cast<unsigned>(n)); }); });
  return m;
}

} // namespace bench
