// examples/algorithms/matmul.hpp on any contender: the product of two square matrices of floats.
#pragma once

#include "../fib.hpp"

#include <algorithms/serial/multiply_tile.hpp>
#include <shared/random_at.hpp>

#include <cstddef>
#include <cstdint>

namespace bench {

template<class R>
void multiply_in_halves(const algorithms::matrix& a, const algorithms::matrix& b, algorithms::matrix& c,
                        std::size_t r0, std::size_t r1, std::size_t c0, std::size_t c1) {
  constexpr std::size_t tile = 128;
  if (r1 - r0 <= tile && c1 - c0 <= tile) return algorithms::multiply_tile(a, b, c, r0, r1, c0, c1);
  const auto part = [&](std::size_t t, std::size_t u, std::size_t v, std::size_t w) {
    return [&a, &b, &c, t, u, v, w] { return multiply_in_halves<R>(a, b, c, t, u, v, w), 0; };
  };
  if (r1 - r0 >= c1 - c0) {
    const std::size_t middle = r0 + (r1 - r0) / 2;
    static_cast<void>(R::join(part(r0, middle, c0, c1), part(middle, r1, c0, c1)));
  } else {
    const std::size_t middle = c0 + (c1 - c0) / 2;
    static_cast<void>(R::join(part(r0, r1, c0, middle), part(r0, r1, middle, c1)));
  }
}

template<class R>
measurement matmul(R& r, std::uint64_t n) {
  algorithms::matrix a(n, n), b(n, n), c(n, n);
  // Small integers: the sums are exact.
  for (std::uint64_t i = 0; i != n * n; ++i) {
    a.row(0)[i] = static_cast<float>(example::random_at(0, i) % 16);
    b.row(0)[i] = static_cast<float>(example::random_at(1, i) % 16);
  }
  warm_up(r);
  measurement m;
  r.run([&] { m = timed(1, [&] { return multiply_in_halves<R>(a, b, c, 0, n, 0, n), std::uint64_t{0}; }); });
  for (std::uint64_t i = 0; i != n * n; ++i) m.checksum += (i + 1) * static_cast<std::uint64_t>(c.row(0)[i]);
  return m;
}

} // namespace bench
