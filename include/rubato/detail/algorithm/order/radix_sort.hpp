// Sorting of numbers by their representation, with memory for as many of them. docs/design/algorithms.md
//
// One parallel pass distributes the keys to 256 buckets (stably, by counts of fixed blocks), and then the
// buckets are sorted side by side, each within a thread's cache. Related: most-significant-digit radix sort
// (P. McIlroy, K. Bostic, M. D. McIlroy, 1993).
#pragma once

#include "rubato/detail/algorithm/fork_tree.hpp"
#include "rubato/detail/algorithm/order/natural_order.hpp"
#include "rubato/detail/algorithm/order/radix_bucket.hpp"
#include "rubato/detail/base/atomics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>

namespace rubato::detail {

/// Contiguous blocks whose number depends on the length alone.
class fixed_blocks {
  std::size_t n_, blocks_;

public:
  static constexpr std::size_t most = 32;
  explicit fixed_blocks(std::size_t n) noexcept
      : n_(n)
      , blocks_(std::clamp<std::size_t>(n >> 15U, 1, most)) {}
  [[nodiscard]] std::size_t size() const noexcept { return blocks_; }
  [[nodiscard]] std::size_t begin_of(std::size_t b) const noexcept {
    return n_ / blocks_ * b + std::min(b, n_ % blocks_);
  }
};

template<class T, natural Order>
class radix_sort {
  using key = ordered_bits<T, Order>;
  using bits = typename key::type;
  static constexpr std::size_t buckets = 256;
  using counts = std::array<std::size_t, buckets>;

  fork_tree tree_;
  T* v_;
  std::size_t n_;
  fixed_blocks blocks_{n_};

  template<class F>
  void for_each_block(context& c, F const& f) const {
    tree_.for_each_index(c, 0, blocks_.size(),
                         [&](std::size_t b) { f(b, blocks_.begin_of(b), blocks_.begin_of(b + 1)); });
  }

  [[nodiscard]] key_range<bits> range(context& c) const {
    std::array<key_range<bits>, fixed_blocks::most> of_block;
    for_each_block(c, [&](std::size_t b, std::size_t lo, std::size_t hi) {
      tree_.throw_if_stopped();
      key_range<bits> r;
      for (std::size_t i = lo; i != hi; ++i) r.include(key::of(v_[i]));
      of_block[b] = r;
    });
    key_range<bits> all;
    for (std::size_t b = 0; b != blocks_.size(); ++b) all.include(of_block[b]);
    return all;
  }

  /// There are at most 256 values: counts them, and writes them anew.
  void by_counting(context& c, bits least) const {
    std::array<relaxed<std::size_t>, buckets> total{}; // read after the end of all blocks
    for_each_block(c, [&](std::size_t, std::size_t lo, std::size_t hi) {
      tree_.throw_if_stopped();
      counts mine{};
      for (std::size_t i = lo; i != hi; ++i) ++mine[static_cast<std::size_t>(bits(key::of(v_[i]) - least))];
      for (std::size_t d = 0; d != buckets; ++d)
        if (mine[d] != 0) total[d].add(mine[d]);
    });
    counts end{};
    std::size_t sum = 0;
    for (std::size_t d = 0; d != buckets; ++d) end[d] = sum += total[d].get();
    for_each_block(c, [&](std::size_t, std::size_t lo, std::size_t hi) {
      auto d = static_cast<std::size_t>(std::ranges::upper_bound(end, lo) - end.begin());
      for (; lo != hi; ++d) {
        std::size_t const stop = std::min(hi, end[d]);
        std::fill(v_ + lo, v_ + stop, key::from(static_cast<bits>(least + d)));
        lo = stop;
      }
    });
  }

  struct by_shift {
    bits least;
    unsigned shift;
    [[nodiscard]] std::size_t operator()(bits b) const noexcept {
      return static_cast<std::size_t>(bits(b - least) >> shift);
    }
  };
  /// Of a floating-point number by its value: a shift would put half of the numbers between 0 and 1 into two
  /// buckets, which are those of their exponents. Monotone, as rounding is.
  struct by_value {
    T least;
    T scale;
    by_value(T first, T last) noexcept
        : least(first)
        , scale(static_cast<T>(T(buckets) / (last - first))) {}
    /// False: not all numbers are finite, or they are too close.
    [[nodiscard]] bool is_usable() const noexcept { return std::isfinite(scale) && scale != 0; }
    [[nodiscard]] std::size_t operator()(bits b) const noexcept {
      return std::min(static_cast<std::size_t>(static_cast<std::int32_t>((key::from(b) - least) * scale)),
                      buckets - 1);
    }
  };

  /// The most of 1,024 numbers that fall into one bucket.
  template<class BucketOf>
  [[nodiscard]] std::size_t most_in_sample(BucketOf const& bucket_of) const {
    constexpr std::size_t samples = 1'024;
    counts in{};
    for (std::size_t i = 0; i != samples; ++i) ++in[bucket_of(key::of(v_[n_ / samples * i]))];
    return std::ranges::max(in);
  }

  template<class BucketOf>
  [[nodiscard]] bool by_buckets_of(context& c, BucketOf const& bucket_of) const {
    std::unique_ptr<counts[]> const of_block(new (std::nothrow) counts[blocks_.size()]());
    std::unique_ptr<bits[]> const keys(new (std::nothrow) bits[n_]);
    if (of_block == nullptr || keys == nullptr) return false;
    for_each_block(c, [&](std::size_t b, std::size_t lo, std::size_t hi) {
      tree_.throw_if_stopped();
      counts mine{};
      for (std::size_t i = lo; i != hi; ++i) ++mine[bucket_of(key::of(v_[i]))];
      of_block[b] = mine;
    });
    std::array<std::size_t, buckets + 1> begin{};
    std::size_t sum = 0;
    for (std::size_t d = 0; d != buckets; ++d) {
      begin[d] = sum;
      for (std::size_t b = 0; b != blocks_.size(); ++b) sum += std::exchange(of_block[b][d], sum);
      // one thread would sort it, while the others are idle; and n < 2^32 in a bucket
      if (sum - begin[d] > n_ / 8 || sum - begin[d] > std::numeric_limits<std::uint32_t>::max()) return false;
    }
    begin[buckets] = sum;
    tree_.throw_if_stopped();
    for_each_block(c, [&](std::size_t b, std::size_t lo, std::size_t hi) {
      counts next = of_block[b];
      for (std::size_t i = lo; i != hi; ++i) {
        bits const k = key::of(v_[i]);
        keys[next[bucket_of(k)]++] = k;
      }
    });
    // From here on nothing may end it early: the numbers are in both places.
    tree_.for_each_index(c, 0, buckets, [&](std::size_t d) {
      radix_bucket<T, Order>(keys.get() + begin[d], v_ + begin[d], begin[d + 1] - begin[d]).sort();
    });
    return true;
  }

  [[nodiscard]] bool by_buckets(context& c, key_range<bits> const& all) const {
    by_shift const shifted{all.least, static_cast<unsigned>(all.width() - 8)};
    if constexpr (std::is_floating_point_v<T>) {
      by_value const scaled(key::from(all.least), key::from(all.greatest));
      if (scaled.is_usable() && most_in_sample(scaled) < most_in_sample(shifted))
        return by_buckets_of(c, scaled);
    }
    return by_buckets_of(c, shifted);
  }

public:
  radix_sort(fork_tree tree, T* v, std::size_t n) noexcept
      : tree_(tree)
      , v_(v)
      , n_(n) {}

  /// False: it has done nothing, because there is no memory, it may take none, or too many numbers are close
  /// together.
  [[nodiscard]] bool sort(context& c, bool may_allocate) const {
    auto const all = range(c);
    int const width = all.width();
    if (width <= 8) return by_counting(c, all.least), true;
    if constexpr (sizeof(T) > 1) return may_allocate && by_buckets(c, all);
    return false;
  }
};

} // namespace rubato::detail
