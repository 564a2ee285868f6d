// Numbers to add up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace rubato_test {

/// Of both signs, scattered, and the same in each run.
template<class T>
std::vector<T> some_numbers(std::size_t n) {
  std::vector<T> made(n);
  std::uint64_t x = 88172645463325252U;
  for (T& v : made) {
    x ^= x << 13U;
    x ^= x >> 7U;
    x ^= x << 17U;
    double const scattered_one = static_cast<double>(static_cast<std::int64_t>(x)) / 1e16;
    if constexpr (std::is_floating_point_v<T>)
      v = static_cast<T>(scattered_one);
    else
      v = static_cast<T>(static_cast<std::int64_t>(scattered_one)); // also of an unsigned type
  }
  return made;
}

} // namespace rubato_test
