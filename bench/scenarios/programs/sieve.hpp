// examples/algorithms/sieve.hpp on any contender: the primes up to n are counted.
#pragma once

#include "../fib.hpp"

#include <algorithms/serial/sieve_block.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace bench {

template<class R>
measurement sieve(R& r, std::uint64_t n) {
  constexpr std::uint64_t block = std::uint64_t{1} << 20U;
  const std::uint64_t end = n + n % 2;
  warm_up(r);
  measurement m;
  r.run([&] {
    m = timed(1, [&] {
      const auto primes =
          algorithms::odd_primes_below(static_cast<std::uint32_t>(std::sqrt(static_cast<double>(n))) + 2);
      return R::sum((end + block - 1) / block, [&](std::uint64_t k) {
        return algorithms::count_odd_primes(k * block, std::min((k + 1) * block, end), primes);
      });
    });
  });
  return m;
}

} // namespace bench
