// How long recent calls took: a histogram with buckets of bounded relative width, whose samples age.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace rubato::detail {

/// Durations in nanoseconds as bucket numbers: below 64 ns one bucket each, then 32 for each power of two, up
/// to 2^40 ns (18 minutes). Source: G. Tene's HdrHistogram.
struct latency_buckets {
  static constexpr unsigned precision = 5; // bits after the leading one
  static constexpr unsigned widest = 40;   // bits of the largest value
  static constexpr unsigned per_octave = 1U << precision;
  static constexpr unsigned buckets = (widest - precision + 1) * per_octave;
  static constexpr std::int64_t largest = (std::int64_t{1} << widest) - 1;

  /// Smaller values count as 0, larger ones as `largest`.
  static constexpr std::uint16_t of(std::int64_t nanoseconds) noexcept {
    if (nanoseconds < 0) nanoseconds = 0;
    if (nanoseconds > largest) nanoseconds = largest;
    auto const value = static_cast<std::uint64_t>(nanoseconds);
    auto const width = static_cast<unsigned>(std::bit_width(value));
    unsigned const shift = width > precision + 1 ? width - precision - 1 : 0;
    return static_cast<std::uint16_t>(std::uint64_t{shift} * per_octave + (value >> shift));
  }
  /// The largest value in a bucket: at most 1/32 above every other value in it.
  static constexpr std::int64_t upper(unsigned bucket) noexcept {
    if (bucket < 2 * per_octave) return bucket;
    unsigned const shift = bucket / per_octave - 1;
    return (static_cast<std::int64_t>(bucket % per_octave + per_octave + 1) << shift) - 1;
  }
};
static_assert(latency_buckets::upper(latency_buckets::buckets - 1) == latency_buckets::largest);

/// Not synchronised. A new sample weighs more than its predecessor by a constant factor, which is the same as
/// if all older ones lost weight. Source: G. Cormode et al., "Forward decay", ICDE 2009.
class latency_sketch {
  std::array<double, latency_buckets::buckets> weights_{};
  double total_ = 0;
  double next_ = 1; // the weight of the next sample
  double growth_;
  unsigned highest_ = 0; // no bucket above it has weight

  void scale_down() noexcept;

public:
  /// half_life: after that many further samples, a sample has half of its weight.
  explicit latency_sketch(double half_life) noexcept;

  void add(std::uint16_t bucket) noexcept;
  /// The smallest upper bound of a bucket, in nanoseconds, above which lies at most 1 - quantile of the
  /// weight; 0 without samples. O(buckets above the result).
  [[nodiscard]] std::int64_t quantile(double quantile) const noexcept;
};

} // namespace rubato::detail
