// What one thread does in a sieve: it counts the primes of an interval.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace algorithms {

/// The odd primes below `end`, for a small `end`: the plain sieve of Eratosthenes.
inline std::vector<std::uint32_t> odd_primes_below(std::uint32_t end) {
  std::vector<std::uint8_t> composite(end / 2 + 1); // [i] is for 2 i + 1
  std::vector<std::uint32_t> primes;
  for (std::uint64_t p = 3; p < end; p += 2) {
    if (composite[p / 2] != 0) continue;
    primes.push_back(static_cast<std::uint32_t>(p));
    for (std::uint64_t multiple = p * p; multiple < end; multiple += 2 * p) composite[multiple / 2] = 1;
  }
  return primes;
}

/// How many of the odd numbers in [first, last) are prime; `primes` are the odd primes up to the square root
/// of `last`, and `first` is even. It sieves one segment of 32 KB after the other, which stays in the L1
/// cache, and remembers for each prime where it goes on (C. Bays and R. Hudson, BIT 1977).
inline std::uint64_t count_odd_primes(std::uint64_t first, std::uint64_t last,
                                      std::span<const std::uint32_t> primes) {
  constexpr std::size_t odds = std::size_t{1} << 15U; // of a segment, a byte each
  std::array<std::uint8_t, odds> prime;               // [i] is for first + 2 i + 1
  std::vector<std::size_t> next;                      // multiple of each prime: its index in the segment
  next.reserve(primes.size());
  for (const std::uint64_t p : primes) {
    const std::uint64_t multiple = std::max(p * p, (first / p + 1) * p);
    next.push_back(static_cast<std::size_t>(((multiple % 2 == 0 ? multiple + p : multiple) - first) / 2));
  }
  std::uint64_t found = 0;
  for (; first < last; first += 2 * odds) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(odds, (last - first) / 2));
    prime.fill(1);
    for (std::size_t k = 0; k != primes.size(); ++k) {
      std::size_t i = next[k];
      for (; i < odds; i += primes[k]) prime[i] = 0;
      next[k] = i - odds;
    }
    for (std::size_t i = 0; i != size; ++i) found += prime[i];
  }
  return found;
}

} // namespace algorithms
