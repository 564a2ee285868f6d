// Work with forks in it, whose result tells whether every leaf ran exactly once.
#pragma once

#include <rubato/join.hpp>

#include <cstdint>

namespace rubato_test {

/// The sum of first ... last - 1, a join at every level and one leaf per number.
inline std::uint64_t forked_sum(std::uint64_t first, std::uint64_t last) {
  if (last - first <= 1) return last == first ? 0 : first;
  std::uint64_t const middle = first + (last - first) / 2;
  auto const [left, right] =
      rubato::join([=] { return forked_sum(first, middle); }, [=] { return forked_sum(middle, last); });
  return left + right;
}

inline std::uint64_t sum_below(std::uint64_t last) { return last * (last - (last > 0 ? 1 : 0)) / 2; }

} // namespace rubato_test
