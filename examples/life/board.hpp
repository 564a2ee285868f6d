// A board of Conway's Game of Life, and what one thread does with some of its rows.
#pragma once

#include "shared/random_at.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace life {

/// Its edges are joined: the first row lies below the last one, the first column right of the last one. A
/// cell is a byte, 0 or 1. Each row has a copy of its last cell before its first one, and of its first one
/// after its last one, so that no cell needs to ask where its neighbours are.
class board {
  std::size_t rows_, columns_, stride_;
  std::vector<std::uint8_t> cells_;
  std::vector<std::uint8_t> inhabited_; ///< per row: it has a living cell

  void join_edges(std::size_t r) {
    std::uint8_t* const cells = row(r);
    cells[-1] = cells[columns_ - 1];
    cells[columns_] = cells[0];
  }

public:
  /// Throws std::invalid_argument unless there is a cell.
  board(std::size_t rows, std::size_t columns)
      : rows_(rows)
      , columns_(columns)
      , stride_(columns + 2)
      , cells_(rows * stride_)
      , inhabited_(rows) {
    if (rows == 0 || columns == 0) throw std::invalid_argument("a board without a cell");
  }

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::uint8_t* row(std::size_t r) { return cells_.data() + r * stride_ + 1; }
  const std::uint8_t* row(std::size_t r) const { return cells_.data() + r * stride_ + 1; }
  bool alive(std::size_t r, std::size_t c) const { return row(r)[c] != 0; }
  std::size_t above(std::size_t r) const { return r == 0 ? rows_ - 1 : r - 1; }
  std::size_t below(std::size_t r) const { return r + 1 == rows_ ? 0 : r + 1; }

  void set(std::size_t r, std::size_t c, bool alive) {
    row(r)[c] = alive;
    inhabited_[r] |= static_cast<std::uint8_t>(alive);
    join_edges(r);
  }
  /// Whether the next generation may have a living cell in the row. Another row's cells can't bring it to
  /// life.
  bool may_live(std::size_t r) const {
    return (inhabited_[above(r)] | inhabited_[r] | inhabited_[below(r)]) != 0;
  }
  std::size_t living() const {
    std::size_t sum = 0;
    for (std::size_t r = 0; r != rows_; ++r)
      for (std::size_t c = 0; c != columns_; ++c) sum += row(r)[c];
    return sum;
  }
  bool operator==(const board& other) const { return columns_ == other.columns_ && cells_ == other.cells_; }

  /// Makes row r that of the generation after `now`, which is another board of the same size. Other threads
  /// may make other rows at the same time.
  void make_row(const board& now, std::size_t r) {
    const std::uint8_t* const up = now.row(above(r));
    const std::uint8_t* const here = now.row(r);
    const std::uint8_t* const down = now.row(below(r));
    std::uint8_t* const next = row(r);
    const std::size_t columns = columns_; // the compiler can't know that no cell is a part of it
    std::uint8_t any = 0;
    for (std::size_t c = 0; c != columns; ++c) {
      const std::uint8_t* const u = up + c;
      const std::uint8_t* const h = here + c;
      const std::uint8_t* const d = down + c;
      const auto neighbours =
          static_cast<std::uint8_t>(u[-1] + u[0] + u[1] + h[-1] + h[1] + d[-1] + d[0] + d[1]);
      // Three of them make a cell live. Two do if it has lived: then the lowest bit of 2 is set, too.
      next[c] = (neighbours | h[0]) == 3;
      any |= next[c];
    }
    inhabited_[r] = any;
    join_edges(r);
  }
  /// As make_row(), where no cell may live.
  void clear_row(std::size_t r) {
    if (inhabited_[r] == 0) return;
    std::fill_n(row(r) - 1, stride_, std::uint8_t{0});
    inhabited_[r] = 0;
  }
};

/// A cell lives with a chance of `density`.
inline board random_board(std::size_t rows, std::size_t columns, double density, std::uint64_t seed) {
  board made(rows, columns);
  for (std::size_t r = 0; r != rows; ++r)
    for (std::size_t c = 0; c != columns; ++c)
      if (example::unit_at(seed, r * columns + c) < density) made.set(r, c, true);
  return made;
}

} // namespace life
