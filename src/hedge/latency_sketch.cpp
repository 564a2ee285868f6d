#include "hedge/latency_sketch.hpp"

#include <algorithm>
#include <cmath>

namespace rubato::detail {

latency_sketch::latency_sketch(double half_life) noexcept
    : growth_(std::exp2(1 / half_life)) {}

void latency_sketch::add(std::uint16_t bucket) noexcept {
  weights_[bucket] += next_;
  total_ += next_;
  highest_ = std::max<unsigned>(highest_, bucket);
  next_ *= growth_;
  constexpr double heavy = 0x1p100; // far below the largest double
  if (next_ > heavy) scale_down();
}

/// Once in a hundred half-lives. What has become so light that it can decide nothing is dropped, so that
/// quantile() does not walk over it.
void latency_sketch::scale_down() noexcept {
  constexpr double light = 0x1p-40; // of one sample
  total_ = 0;
  highest_ = 0;
  for (unsigned k = 0; k != latency_buckets::buckets; ++k) {
    double& weight = weights_[k];
    weight /= next_;
    if (weight < light) weight = 0;
    if (weight == 0) continue;
    total_ += weight;
    highest_ = k;
  }
  next_ = 1;
}

std::int64_t latency_sketch::quantile(double quantile) const noexcept {
  double const permitted = (1 - quantile) * total_;
  double above = 0;
  unsigned bucket = highest_;
  while (bucket != 0 && above + weights_[bucket] <= permitted) above += weights_[bucket--];
  return latency_buckets::upper(bucket);
}

} // namespace rubato::detail
