// A scope with n spawned closures of 200 hash rounds each; ns per scope.
#pragma once

#include "fib.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace bench {

template<class R>
measurement flat_scope(R& r, std::uint64_t spawns) {
  std::vector<std::uint64_t> out(spawns);
  const std::uint64_t repeats = std::max<std::uint64_t>(1, 50'000 / spawns);
  warm_up(r);
  measurement m;
  r.run([&] {
    m = timed(static_cast<double>(repeats), [&] {
      for (std::uint64_t k = 0; k != repeats; ++k)
        R::scope(spawns, [&out, k](std::size_t i) { out[i] += hash_rounds(keep(i + k), 200); });
      return std::uint64_t{0};
    });
  });
  for (std::uint64_t h : out) m.checksum += h;
  return m;
}

} // namespace bench
