// A loop over an array, each item incremented; ns per loop. Short loops are repeated, one after the other.
#pragma once

#include "fib.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace bench {

template<bool Busy, class R>
measurement iterate(R& r, std::uint64_t items) {
  std::vector<std::uint32_t> data(items);
  const std::uint64_t repeats = std::max<std::uint64_t>(1, (Busy ? 5'000'000 : 20'000'000) / items);
  auto loop = [&] {
    // opaque, so that "nothing" stays one load and one store per item for every contender, not a vector of
    // sixteen
    R::for_index(items, [&](std::size_t i) {
      item_work<Busy>();
      data[i] = opaque(data[i] + 1);
    });
  };
  warm_up(r);
  measurement m;
  r.run([&] {
    loop(); // touches the memory
    m = timed(static_cast<double>(repeats), [&] {
      for (std::uint64_t k = 0; k != repeats; ++k) loop();
      return std::uint64_t{0};
    });
  });
  m.checksum = std::accumulate(data.begin(), data.end(), std::uint64_t{0});
  return m;
}

} // namespace bench
