// The sieve of Eratosthenes, in blocks that know nothing of each other.
#pragma once

#include "serial/sieve_block.hpp"

#include <rubato/algorithm.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <ranges>

namespace algorithms {

/// How many primes there are up to n. n is below 2^63. Each block of a million numbers is one step of the
/// reduction: what it needs of the others is only the primes up to the square root of n, which one thread
/// finds.
inline std::uint64_t count_primes(std::uint64_t n) {
  if (n < 2) return 0;
  constexpr std::uint64_t block = std::uint64_t{1} << 20U;
  const std::uint64_t end = n + n % 2; // even: the odd numbers below it are those up to n
  const auto primes = odd_primes_below(static_cast<std::uint32_t>(std::sqrt(static_cast<double>(n))) + 2);
  const auto in_block = [&](std::uint64_t k) {
    return count_odd_primes(k * block, std::min((k + 1) * block, end), primes);
  };
  // The 1 is for the prime 2, and makes up for itself: the sieve takes the odd number 1 for a prime.
  return rubato::reduce(std::views::iota(std::uint64_t{0}, (end + block - 1) / block), std::uint64_t{0},
                        std::plus<>(), in_block);
}

} // namespace algorithms
