// The inner loops of searches and counts: a test of each element, or of two elements at the same place.
//
// A loop that ends at the first match is not vectorised. So numbers in arrays are tested in blocks, each as a
// whole, and only in the block of the first match one after the other.
#pragma once

#include "rubato/detail/algorithm/elements.hpp"
#include "rubato/detail/algorithm/order/share_out.hpp"
#include "rubato/detail/algorithm/search/first_match.hpp"
#include "rubato/detail/base/atomics.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// x == value.
template<class T>
struct equals {
  kept_in_loop<T> value;
  template<class X>
  bool operator()(X&& x) const {
    return static_cast<bool>(std::forward<X>(x) == value);
  }
};
template<class T>
equals<T> equal_to_value(T const& value) {
  return {value};
}

/// The opposite of a predicate.
template<class Pred>
struct opposite {
  kept_in_loop<Pred> pred;
  template<class X>
  bool operator()(X&& x) const {
    return !static_cast<bool>(std::invoke(pred, std::forward<X>(x)));
  }
};

/// pred(proj(element)), at the places of a range.
template<class I, class Pred, class Proj>
struct element_test {
  static constexpr bool of_numbers = array_of_numbers<I>;
  using number = std::iter_value_t<I>;

  I first;
  kept_in_loop<Pred> pred;
  kept_in_loop<Proj> proj;

  [[nodiscard]] auto cursor(std::uint64_t n) const { return detail::cursor_at(first, n); }
  template<class Cursor>
  bool operator()(Cursor const& c) const {
    return static_cast<bool>(std::invoke(pred, std::invoke(proj, *c)));
  }
  // Of numbers, as std does it: its loops are unrolled, and those that can be are vectorised.
  [[nodiscard]] std::uint64_t first_in(std::uint64_t lo, std::uint64_t hi) const {
    auto const begin = cursor(lo);
    return lo + static_cast<std::uint64_t>(
                    std::find_if(begin, cursor(hi), [this](auto& x) { return (*this)(std::addressof(x)); }) -
                    begin);
  }
  [[nodiscard]] std::uint64_t count_in(std::uint64_t lo, std::uint64_t hi) const {
    return static_cast<std::uint64_t>(
        std::count_if(cursor(lo), cursor(hi), [this](auto& x) { return (*this)(std::addressof(x)); }));
  }
};

template<class C, class D>
struct two_cursors {
  C first;
  D second;
  two_cursors& operator++() {
    ++first;
    ++second;
    return *this;
  }
};

/// !pred(proj1(x), proj2(y)) for two elements at the same place of two ranges.
template<class I, class J, class Pred, class Proj1, class Proj2>
struct difference_test {
  static constexpr bool of_numbers = array_of_numbers<I> && array_of_numbers<J>;
  using number = std::iter_value_t<I>;

  I first1;
  J first2;
  kept_in_loop<Pred> pred;
  kept_in_loop<Proj1> proj1;
  kept_in_loop<Proj2> proj2;

  [[nodiscard]] auto cursor(std::uint64_t n) const {
    return two_cursors<cursor_of<I>, cursor_of<J>>{detail::cursor_at(first1, n),
                                                   detail::cursor_at(first2, n)};
  }
  template<class Cursor>
  bool operator()(Cursor const& c) const {
    return !static_cast<bool>(std::invoke(pred, std::invoke(proj1, *c.first), std::invoke(proj2, *c.second)));
  }
};

/// An unsigned integer as wide as the elements: so the tests of a block need no conversion.
template<class T>
using test_lane =
    std::conditional_t<sizeof(T) == 1, std::uint8_t,
                       std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                          std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

#if defined(__clang__)
inline constexpr std::size_t widest_lane = 8;
#else
inline constexpr std::size_t widest_lane = 4; // g++ 12 puts tests of wider numbers together one by one
#endif

/// Are the elements tested in blocks?
template<class Test>
inline constexpr bool in_blocks = Test::of_numbers && sizeof(typename Test::number) <= widest_lane;
/// The elements of a block, which a loop of constant length tests. A count of them fits into a byte.
template<class Test>
inline constexpr std::uint32_t tested_at_once = sizeof(typename Test::number) <= 4 ? 128 : 8;

template<class Test>
[[gnu::always_inline]] inline bool any_at(Test const& test, std::uint64_t at) {
  using lane = test_lane<typename Test::number>;
  auto c = test.cursor(at);
  lane any = 0;
  for (std::uint32_t k = 0; k != tested_at_once<Test>; ++k, void(), ++c)
    any = static_cast<lane>(any | (test(c) ? lane{1} : lane{0}));
  return any != 0;
}

/// A place in [lo, hi] before which there is no match.
template<class Test>
[[gnu::always_inline]] inline std::uint64_t skip(Test const& test, std::uint64_t lo, std::uint64_t hi) {
  if constexpr (in_blocks<Test>)
    while (hi - lo >= tested_at_once<Test> && !detail::any_at(test, lo)) lo += tested_at_once<Test>;
  if constexpr (requires { test.first_in(lo, hi); }) return test.first_in(lo, hi);
  for (auto c = test.cursor(lo); hi - lo >= 4; lo += 4, ++c) {
    if (test(c)) return lo;
    if (test(++c)) return lo + 1;
    if (test(++c)) return lo + 2;
    if (test(++c)) return lo + 3;
  }
  return lo;
}

/// The test for first_match(). Never inline: see call_body().
template<class Test>
[[gnu::noinline]] std::uint64_t scan(Test const& test, std::uint64_t lo, std::uint64_t hi,
                                     std::uint64_t& at) {
  Test const mine = test; // its members may stay in registers
  if constexpr (Test::of_numbers) {
    try {
      lo = detail::skip(mine, lo, hi);
    } catch (...) { // NOLINT(bugprone-empty-catch): thrown again unless there is a match before it
    }
  }
  auto c = mine.cursor(lo);
  for (at = lo; at != hi; ++at, void(), ++c)
    if (mine(c)) return at;
  return hi;
}

/// The first place in [0, n) at which the test is true, else n.
template<class Test>
std::uint64_t first_place(pool* p, std::uint64_t n, Test const& test) {
  return detail::first_match<Test::of_numbers>(
      p, n, [&test](std::uint64_t lo, std::uint64_t hi, std::uint64_t& at) {
        return detail::scan(test, lo, hi, at);
      });
}

/// Never inline: see call_body().
template<class Test>
[[gnu::noinline]] std::uint64_t count_some(Test const& test, std::uint64_t lo, std::uint64_t hi) {
  Test const mine = test;
  std::uint64_t sum = 0;
  auto c = mine.cursor(lo);
  if constexpr (in_blocks<Test>) {
    using lane = test_lane<typename Test::number>;
    constexpr std::uint32_t block = sizeof(lane) == 1 ? 128 : 1024;
    for (; hi - lo >= block; lo += block) {
      lane matches = 0;
      for (std::uint32_t k = 0; k != block; ++k, void(), ++c)
        matches = static_cast<lane>(matches + (mine(c) ? lane{1} : lane{0}));
      sum += matches;
    }
  }
  if constexpr (Test::of_numbers) return sum + mine.count_in(lo, hi);
  for (; lo != hi; ++lo, void(), ++c) sum += mine(c) ? 1U : 0U;
  return sum;
}

/// At how many places in [0, n) the test is true.
template<class Test>
std::uint64_t count_places(pool* p, std::uint64_t n, Test const& test) {
  relaxed<std::uint64_t> sum(0); // the end of the loop publishes it
  share_out<Test::of_numbers>(
      p, n, [&](std::uint64_t lo, std::uint64_t hi) { sum.add(detail::count_some(test, lo, hi)); });
  return sum.get();
}

} // namespace rubato::detail
