// The tiles of a box of two or three sides. docs/design/algorithms.md
//
// The box is a grid of cells, of one element each if there are few. It is halved, its longer side first, down
// to single cells, which are numbered in the order of the halves. A loop shares the numbers out. Neighbours
// in number are neighbours in the box, so a thread stays within a small part of it, and a half whose numbers
// are all in one chunk is one tile.
//
// Source: recursive halving as in blocked_range2d of oneTBB; the order is a Z-order curve (G. M. Morton,
// 1966).
#pragma once

#include "rubato/detail/fork/index_loop.hpp"
#include "rubato/detail/work/callable.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>

namespace rubato::detail {

template<std::size_t Sides>
class tile_order {
public:
  struct side {
    std::uint64_t lo = 0, hi = 0;
    [[nodiscard]] constexpr std::uint64_t size() const noexcept { return hi - lo; }
  };
  using box = std::array<side, Sides>;

  /// Throws std::length_error if there are more than 2^64 - 1 elements.
  explicit tile_order(std::array<std::uint64_t, Sides> const& sizes)
      : sizes_(sizes) {
    if (std::ranges::find(sizes, 0U) != sizes.end()) return;
    std::uint64_t elements = 1;
    for (std::uint64_t const n : sizes) {
      if (n > std::numeric_limits<std::uint64_t>::max() / elements)
        throw std::length_error("rubato: for_tile(): more elements than 64 bits can count");
      elements *= n;
    }
    for (cells_ = elements; cells_ > most_cells; cells_ = size_of_box(grid())) edge_ *= 2;
  }

  /// 0: the box is empty.
  [[nodiscard]] std::uint64_t cells() const noexcept { return cells_; }

  /// Calls f(box) for tiles that together are the cells [lo, hi).
  template<class F>
  void for_each(std::uint64_t lo, std::uint64_t hi, F&& f) const {
    visit(grid(), 0, lo, hi, f);
  }

private:
  static constexpr std::uint64_t most_cells = 65'536;
  static constexpr std::uint64_t most_elements = 16'384; // of a tile with more than one cell

  std::array<std::uint64_t, Sides> const sizes_;
  std::uint64_t edge_ = 1; // of a cell, in elements
  std::uint64_t cells_ = 0;

  [[nodiscard]] static std::uint64_t size_of_box(box const& b) noexcept {
    std::uint64_t n = 1;
    for (side const& s : b) n *= s.size();
    return n;
  }
  /// All cells.
  [[nodiscard]] box grid() const noexcept {
    box b;
    for (std::size_t k = 0; k != Sides; ++k) b[k] = {0, (sizes_[k] - 1) / edge_ + 1};
    return b;
  }
  [[nodiscard]] box elements_of(box const& cells) const noexcept {
    box b;
    for (std::size_t k = 0; k != Sides; ++k)
      b[k] = {cells[k].lo * edge_,
              cells[k].hi == (sizes_[k] - 1) / edge_ + 1 ? sizes_[k] : cells[k].hi * edge_};
    return b;
  }

  /// `part` has the numbers from `first` on.
  template<class F>
  void visit(box const& part, std::uint64_t first, std::uint64_t lo, std::uint64_t hi, F& f) const {
    std::uint64_t const count_here = size_of_box(part), last = first + count_here;
    if (last <= lo || hi <= first) return;
    if (lo <= first && last <= hi) {
      box const tile = elements_of(part);
      if (count_here == 1 || size_of_box(tile) <= most_elements) {
        f(tile);
        return;
      }
    }
    box front = part, back = part;
    auto const longest = static_cast<std::size_t>(
        std::ranges::max_element(part, {}, [](side const& s) { return s.size(); }) - part.begin());
    front[longest].hi = back[longest].lo = part[longest].lo + (part[longest].size() + 1) / 2;
    visit(front, first, lo, hi, f);
    visit(back, first + size_of_box(front), lo, hi, f);
  }
};

template<std::size_t Sides, class Index, class F>
void call_for_tiles(pool* p, std::array<Index, Sides> const& sizes, F& f) {
  std::array<std::uint64_t, Sides> counts{};
  std::ranges::transform(sizes, counts.begin(), [](Index n) { return distance_of(Index{}, n); });
  tile_order<Sides> const order(counts);
  detail::for_chunks(p, order.cells(), [&](thread_context& me, std::uint64_t lo, std::uint64_t hi) {
    order.for_each(lo, hi, [&](auto const& b) {
      auto const at = [](std::uint64_t i) { return static_cast<Index>(i); };
      if constexpr (Sides == 2)
        static_cast<void>(detail::call_and_wait(me, f, at(b[0].lo), at(b[0].hi), at(b[1].lo), at(b[1].hi)));
      else
        static_cast<void>(detail::call_and_wait(me, f, at(b[0].lo), at(b[0].hi), at(b[1].lo), at(b[1].hi),
                                                at(b[2].lo), at(b[2].hi)));
    });
  });
}

template<class I, class J, class F>
void call_for_tiles_of(pool* p, I rows, J columns, F& f) {
  using index = std::common_type_t<I, J>;
  constexpr bool f_fits = fits<F&, index, index, index, index>;
  static_assert(f_fits, "rubato: for_tile(rows, cols, f): f must be callable as f(r0, r1, c0, c1)");
  if constexpr (f_fits)
    detail::call_for_tiles<2, index>(p, {bound_as<index>(rows), bound_as<index>(columns)}, f);
}
template<class I, class J, class K, class F>
void call_for_tiles_of(pool* p, I planes, J rows, K columns, F& f) {
  using index = std::common_type_t<I, J, K>;
  constexpr bool f_fits = fits<F&, index, index, index, index, index, index>;
  static_assert(f_fits,
                "rubato: for_tile(planes, rows, cols, f): f must be callable as f(p0, p1, r0, r1, c0, c1)");
  if constexpr (f_fits)
    detail::call_for_tiles<3, index>(
        p, {bound_as<index>(planes), bound_as<index>(rows), bound_as<index>(columns)}, f);
}

} // namespace rubato::detail
