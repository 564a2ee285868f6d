// The lengths at which seams between blocks, chunks and threads show.
#pragma once

#include "support/scale.hpp"

#include <cstddef>
#include <vector>

namespace rubato_test {

/// 0 to `all`, and 2^k - 1, 2^k, 2^k + 1 up to 2^most_bits. Fewer of the short ones under a sanitizer.
inline std::vector<std::size_t> seam_lengths(std::size_t all = 1'100, unsigned most_bits = 20) {
  std::vector<std::size_t> lengths;
  std::size_t const step = under_tsan || under_asan ? 7 : 1;
  for (std::size_t n = 0; n <= all; n += n < 70 ? 1 : step) lengths.push_back(n);
  for (unsigned k = 1; k <= most_bits; ++k)
    for (std::size_t const n : {(std::size_t{1} << k) - 1, std::size_t{1} << k, (std::size_t{1} << k) + 1})
      if (n > all) lengths.push_back(n);
  return lengths;
}

} // namespace rubato_test
