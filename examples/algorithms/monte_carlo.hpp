// A Monte Carlo estimate that has the same bits for any number of workers.
#pragma once

#include "shared/random_at.hpp"

#include <rubato/algorithm.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <ranges>

namespace algorithms {

struct estimate {
  double mean = 0;
  double error = 0; ///< standard error of the mean
  bool operator==(const estimate&) const = default;
};

namespace detail {

struct sums {
  double values = 0, squares = 0;
  friend sums operator+(const sums& a, const sums& b) { return {a.values + b.values, a.squares + b.squares}; }
};

} // namespace detail

/// Pi, as the mean height of a quarter of a circle at `samples` random places. The samples are dealt out in
/// blocks of fixed size. Which random numbers a block gets depends on its place alone, because the state of
/// the generator is a counter; in which order the sums of the blocks are added depends on their number alone,
/// because the reduction is deterministic. So the threads that compute the blocks do not matter.
inline estimate estimate_pi(std::uint64_t samples, std::uint64_t seed = 0) {
  constexpr std::uint64_t block = 4096;
  if (samples == 0) return {};
  const auto sums_of_block = [=](std::uint64_t k) {
    detail::sums sums;
    for (std::uint64_t i = k * block, end = std::min(samples, i + block); i != end; ++i) {
      const double x = example::unit_at(seed, i);
      const double height = 4 * std::sqrt(1 - x * x);
      sums = sums + detail::sums{height, height * height};
    }
    return sums;
  };
  const auto blocks = std::views::iota(std::uint64_t{0}, (samples + block - 1) / block);
  const auto all =
      rubato::reduce(rubato::deterministic, blocks, detail::sums{}, std::plus<>(), sums_of_block);
  const double n = static_cast<double>(samples);
  const double mean = all.values / n;
  return {mean, std::sqrt(std::max(0.0, all.squares / n - mean * mean) / n)};
}

} // namespace algorithms
