// Input and check sums that depend on places alone, not on the ranks that hold them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace cluster {

/// A random number for each place. Source: splitmix64, S. Vigna.
[[nodiscard]] constexpr std::uint64_t random_at(std::uint64_t place) noexcept {
  std::uint64_t z = (place + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

/// The part of `n` places that a rank holds: from first(rank) to before first(rank + 1).
struct share {
  std::size_t n;
  std::size_t ranks;
  [[nodiscard]] std::size_t first(std::size_t rank) const noexcept { return n * rank / ranks; }
};

/// The part of a check sum that the value at a place adds. The parts of all places are added up, modulo 2^64.
[[nodiscard]] constexpr std::uint64_t mark(std::uint64_t place, std::uint64_t value) noexcept {
  return random_at(random_at(place) ^ value);
}

[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

/// The argument with that number, or what is usual.
[[nodiscard]] inline std::size_t argument(int argc, char** argv, int which, std::size_t usual) {
  return which < argc ? std::strtoull(argv[which], nullptr, 10) : usual;
}

} // namespace cluster
