// Parallel loops over rectangles and boxes, tile by tile.
//
//   #include <rubato/algorithm/tiles.hpp>
//
//   #include <cstddef>
//   #include <cstdio>
//   #include <vector>
//
//   int main() {
//     std::size_t const rows = 300, cols = 200;
//     std::vector<int> image(rows * cols), turned(rows * cols);
//     image[7 * cols + 5] = 1;
//     rubato::for_tile(rows, cols, [&](auto r0, auto r1, auto c0, auto c1) {
//       for (auto r = r0; r != r1; ++r)
//         for (auto c = c0; c != c1; ++c) turned[c * rows + r] = image[r * cols + c];
//     });
//     std::printf("%d\n", turned[5 * rows + 7]); // -> 1
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/algorithm/tiles.hpp"
#include "rubato/detail/fork/index_loop.hpp"
#include "rubato/thread_pool.hpp"

namespace rubato {

namespace detail {

struct for_tile_fn : pool_forms<for_tile_fn> {
  /// for_tile(rows, cols, f): calls f(r0, r1, c0, c1) for tiles [r0, r1) x [c0, c1) that partition the
  /// rectangle [0, rows) x [0, cols). The type of the indices is the common type of rows and cols. Where one
  /// of them is 0 or negative, there is no call.
  ///
  /// The rectangle is halved again and again, its longer side first. So tiles are near-square, unless a side
  /// is too short, and consecutive tiles of a thread are neighbours. A tile has at most 16,384 elements,
  /// which fit into a cache; in a rectangle of more than 2^30 up to a 2^14th of all. It has fewer while calls
  /// take long, down to one element in a rectangle of up to 2^16. Several threads may call f at once;
  /// exceptions, stops and floating-point modes as in for_index(). Throws std::length_error if there are more
  /// than 2^64 - 1 elements. Cost: some 100 ns per tile. Source: blocked_range2d of oneTBB; G. M. Morton, "A
  /// computer oriented geodetic data base" (1966), for the order.
  template<class I, class J, class F>
    requires loop_bound<I> && loop_bound<J>
  static void on(pool* p, I rows, J cols, F&& f) {
    detail::call_for_tiles_of(p, rows, cols, f);
  }
  /// for_tile(planes, rows, cols, f): the same in three dimensions, by f(p0, p1, r0, r1, c0, c1).
  template<class I, class J, class K, class F>
    requires loop_bound<I> && loop_bound<J> && loop_bound<K>
  static void on(pool* p, I planes, J rows, K cols, F&& f) {
    detail::call_for_tiles_of(p, planes, rows, cols, f);
  }
  template<class... Other>
  static refused on(pool* /*p*/, Other&&... /*arguments*/) {
    static_assert(always_false<Other...>,
                  "rubato: for_tile(rows, cols, f) or for_tile(planes, rows, cols, f), each also with a pool "
                  "first: the sizes are integers, f comes last and is called as f(r0, r1, c0, c1) or "
                  "f(p0, p1, r0, r1, c0, c1)");
    return {};
  }
};

} // namespace detail

inline constexpr detail::for_tile_fn for_tile{};

} // namespace rubato
