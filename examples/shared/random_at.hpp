// A generator of random numbers whose state is a counter: any thread can make any number of the stream.
#pragma once

#include <cstdint>

namespace example {

/// Number i of the stream `seed`: SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014).
constexpr std::uint64_t random_at(std::uint64_t seed, std::uint64_t i) noexcept {
  std::uint64_t x = seed + (i + 1) * 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// The same number as a double, evenly spread in [0, 1).
constexpr double unit_at(std::uint64_t seed, std::uint64_t i) noexcept {
  return static_cast<double>(random_at(seed, i) >> 11U) * 0x1p-53;
}

} // namespace example
