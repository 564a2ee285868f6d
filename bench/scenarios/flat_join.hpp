// Joins of two trivial closures in a flat loop; ns per join. Never more than one latent half at a time.
#pragma once

#include "fib.hpp"

namespace bench {

template<class R>
measurement flat_join(R& r, std::uint64_t joins) {
  warm_up(r);
  measurement m;
  r.run([&] {
    m = timed(static_cast<double>(joins), [joins] {
      std::uint64_t total = 0;
      for (std::uint64_t i = 0; i != joins; ++i) {
        auto [a, b] = R::join([i] { return keep(i); }, [i] { return keep(i ^ 1); });
        total += a + b;
      }
      return total -
             joins *
                 (joins - 1); // a and b are i and its neighbour, so the rest is 0 for an even number of joins
    });
  });
  return m;
}

} // namespace bench
