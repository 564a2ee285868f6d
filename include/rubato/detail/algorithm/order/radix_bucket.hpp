// The serial part of a radix sort: a bucket of keys that fits the cache.
#pragma once

#include "rubato/detail/algorithm/order/natural_order.hpp"
#include "rubato/detail/algorithm/order/quicksort.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

namespace rubato::detail {

/// The least and the greatest of some keys.
template<class Bits>
struct key_range {
  Bits least = static_cast<Bits>(~Bits{0}), greatest = 0;

  void include(Bits b) noexcept {
    least = std::min(least, b);
    greatest = std::max(greatest, b);
  }
  void include(key_range const& other) noexcept {
    include(other.least);
    include(other.greatest);
  }
  /// How many bits tell the keys apart, less the least one.
  [[nodiscard]] int width() const noexcept {
    return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(greatest - least)));
  }
};

/// Sorts `keys`, and writes the numbers that they stand for to `out`, which also serves as room for keys
/// meanwhile. Buckets of at most some hundred elements: quicksort. At most 24 bits: by the digits from the
/// last on. Else by the first digits, recursively.
template<class T, natural Order>
class radix_bucket {
  using key = ordered_bits<T, Order>;
  using bits = typename key::type;
  static constexpr std::size_t few = 300, few_of_many_bits = 3'000;
  static constexpr int digit = 8, most_digits = 3, most_of_first_digit = 12;

  bits* keys_;
  T* out_;
  std::size_t n_;

  void write() const noexcept {
    for (std::size_t i = 0; i != n_; ++i) out_[i] = key::from(keys_[i]);
  }

  void by_quicksort() const {
    detail::quicksort(sort_piece<bits*>{keys_, static_cast<std::ptrdiff_t>(n_), detail::most_levels(n_)},
                      std::less<>());
    write();
  }

  static void sums_before(std::span<std::uint32_t> counts) noexcept {
    std::uint32_t sum = 0;
    for (std::uint32_t& c : counts) sum += std::exchange(c, sum);
  }

  void by_last_digits(key_range<bits> range, int width) const {
    int const digits = (width + digit - 1) / digit;
    int const each = (width + digits - 1) / digits;
    auto const mask = (std::uint32_t{1} << static_cast<unsigned>(each)) - 1;
    auto const digit_of = [=](bits b, int d) {
      return (static_cast<std::uint32_t>(b - range.least) >> static_cast<unsigned>(d * each)) & mask;
    };
    std::array<std::array<std::uint32_t, 1U << digit>, most_digits> counts{};
    for (std::size_t i = 0; i != n_; ++i)
      for (int d = 0; d != digits; ++d) ++counts[static_cast<unsigned>(d)][digit_of(keys_[i], d)];
    for (int d = 0; d != digits; ++d) {
      auto& next = counts[static_cast<unsigned>(d)];
      sums_before(next);
      if (d % 2 != 0) // the keys are in `out`
        for (std::size_t i = 0; i != n_; ++i) {
          bits const b = std::bit_cast<bits>(out_[i]);
          keys_[next[digit_of(b, d)]++] = b;
        }
      else if (d + 1 != digits)
        for (std::size_t i = 0; i != n_; ++i)
          out_[next[digit_of(keys_[i], d)]++] = std::bit_cast<T>(keys_[i]);
      else
        for (std::size_t i = 0; i != n_; ++i) out_[next[digit_of(keys_[i], d)]++] = key::from(keys_[i]);
    }
    if (digits % 2 == 0) write();
  }

  void by_first_digit(key_range<bits> range, int width) const {
    // About ten keys for each value of the digit.
    int const first_digit = std::clamp(static_cast<int>(std::bit_width(n_ / 16)), digit, most_of_first_digit);
    auto const shift = static_cast<unsigned>(std::max(0, width - first_digit));
    auto const digit_of = [=](bits b) { return static_cast<std::size_t>(bits(b - range.least) >> shift); };
    std::array<std::uint32_t, 1U << most_of_first_digit> room; // to clear all of it would cost too much
    std::span const next(room.data(), digit_of(range.greatest) + 1);
    std::ranges::fill(next, 0U);
    for (std::size_t i = 0; i != n_; ++i) ++next[digit_of(keys_[i])];
    sums_before(next);
    for (std::size_t i = 0; i != n_; ++i) out_[next[digit_of(keys_[i])]++] = std::bit_cast<T>(keys_[i]);
    std::uint32_t begin = 0;
    for (std::uint32_t const end : next) {
      for (std::uint32_t i = begin; i != end; ++i) keys_[i] = std::bit_cast<bits>(out_[i]);
      radix_bucket(keys_ + begin, out_ + begin, end - begin).sort();
      begin = end;
    }
  }

public:
  /// n < 2^32.
  radix_bucket(bits* keys, T* out, std::size_t n) noexcept
      : keys_(keys)
      , out_(out)
      , n_(n) {}

  void sort() const { // NOLINT(misc-no-recursion): a level takes ten of at most 64 bits
    if (n_ <= few) return by_quicksort();
    key_range<bits> range;
    for (std::size_t i = 0; i != n_; ++i) range.include(keys_[i]);
    int const width = range.width();
    if (width == 0) return write();
    if (width <= digit * most_digits) return by_last_digits(range, width);
    if (n_ <= few_of_many_bits) return by_quicksort();
    by_first_digit(range, width);
  }
};

} // namespace rubato::detail
