// Sorting of strings by {the first eight bytes that differ, index}: most comparisons look at no string.
// docs/design/algorithms.md
#pragma once

#include "rubato/detail/algorithm/fork_tree.hpp"
#include "rubato/detail/algorithm/order/natural_order.hpp"
#include "rubato/detail/algorithm/order/parallel_sort.hpp"
#include "rubato/detail/algorithm/order/radix_sort.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace rubato::detail {

template<natural Order>
class string_sort {
  struct entry {
    std::uint64_t prefix;
    std::size_t index;
  };
  struct room_deleter {
    void operator()(void* p) const noexcept { ::operator delete(p); }
  };

  fork_tree tree_;
  std::string* v_;
  std::size_t n_;
  fixed_blocks blocks_{n_};

  template<class F>
  void for_each_block(context& c, F const& f) const {
    tree_.for_each_index(c, 0, blocks_.size(),
                         [&](std::size_t b) { f(b, blocks_.begin_of(b), blocks_.begin_of(b + 1)); });
  }

  /// How many bytes all strings begin with.
  [[nodiscard]] std::size_t common_prefix(context& c) const {
    std::array<std::size_t, fixed_blocks::most> of_block{};
    std::string const& first = v_[0];
    for_each_block(c, [&](std::size_t b, std::size_t lo, std::size_t hi) {
      tree_.throw_if_stopped();
      std::size_t common = first.size();
      for (std::size_t i = lo; i != hi && common != 0; ++i) {
        std::string const& s = v_[i];
        common = std::min(common, s.size());
        if (std::memcmp(s.data(), first.data(), common) != 0)
          common = static_cast<std::size_t>(
              std::mismatch(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(common), first.begin()).first -
              s.begin());
      }
      of_block[b] = common;
    });
    return *std::min_element(of_block.begin(),
                             of_block.begin() + static_cast<std::ptrdiff_t>(blocks_.size()));
  }

  /// The bytes from there on as a number that is ordered as they are; behind the end there are zeros.
  [[nodiscard]] static std::uint64_t prefix_of(std::string const& s, std::size_t from) noexcept {
    std::array<unsigned char, 8> bytes{};
    std::memcpy(bytes.data(), s.data() + from, std::min<std::size_t>(bytes.size(), s.size() - from));
    std::uint64_t prefix = 0;
    for (unsigned char const b : bytes) prefix = prefix << 8U | b; // one instruction
    return prefix;
  }

  /// Moves the strings to their places, with room for the first half of them. Each string of that half moves
  /// out into the room, and leaves a hole. Those of the other half that stand in the second half of the range
  /// move to holes in the first one. So the whole second half is holes, and is filled; then the first one.
  /// No step of these waits for a step before, as they would along the cycles of the permutation.
  void permute(context& c, entry* entries, std::string* room) const {
    std::size_t const half = n_ - n_ / 2;
    std::array<std::size_t, fixed_blocks::most + 1> holes{}, strays{};
    for_each_block(c, [&](std::size_t b, std::size_t lo, std::size_t hi) {
      std::size_t const middle = std::clamp(half, lo, hi);
      for (std::size_t i = lo; i != middle; ++i) {
        std::construct_at(room + i, std::move(v_[entries[i].index]));
        holes[b + 1] += entries[i].index < half;
      }
      for (std::size_t i = middle; i != hi; ++i) strays[b + 1] += entries[i].index >= half;
    });
    for (std::size_t b = 0; b != blocks_.size(); ++b) {
      holes[b + 1] += holes[b];
      strays[b + 1] += strays[b];
    }
    // The prefix of an entry is not needed any more: those of the first ones become a list of the holes.
    for_each_block(c, [&](std::size_t b, std::size_t lo, std::size_t hi) {
      std::size_t next = holes[b];
      for (std::size_t i = lo; i < std::min(hi, half); ++i)
        if (entries[i].index < half) entries[next++].prefix = entries[i].index;
    });
    for_each_block(c, [&](std::size_t b, std::size_t lo, std::size_t hi) {
      std::size_t next = strays[b];
      for (std::size_t i = std::max(lo, half); i < hi; ++i) {
        if (entries[i].index < half) continue;
        auto const hole = static_cast<std::size_t>(entries[next++].prefix);
        v_[hole] = std::move(v_[entries[i].index]);
        entries[i].index = hole;
      }
    });
    for_each_block(c, [&](std::size_t, std::size_t lo, std::size_t hi) {
      for (std::size_t i = std::max(lo, half); i < hi; ++i) v_[i] = std::move(v_[entries[i].index]);
    });
    for_each_block(c, [&](std::size_t, std::size_t lo, std::size_t hi) {
      for (std::size_t i = lo; i < std::min(hi, half); ++i) {
        v_[i] = std::move(room[i]);
        std::destroy_at(room + i);
      }
    });
  }

public:
  string_sort(fork_tree tree, std::string* v, std::size_t n) noexcept
      : tree_(tree)
      , v_(v)
      , n_(n) {}

  /// False: there is no memory, and it has done nothing.
  [[nodiscard]] bool sort(context& c) const {
    std::unique_ptr<entry[]> const entries(new (std::nothrow) entry[n_]);
    std::unique_ptr<void, room_deleter> const room(
        ::operator new((n_ - n_ / 2) * sizeof(std::string), std::nothrow));
    if (entries == nullptr || room == nullptr) return false;
    std::size_t const from = common_prefix(c);
    for_each_block(c, [&](std::size_t, std::size_t lo, std::size_t hi) {
      for (std::size_t i = lo; i != hi; ++i) {
        std::uint64_t const prefix = prefix_of(v_[i], from);
        entries[i] = {Order == natural::descending ? ~prefix : prefix, i};
      }
    });
    auto const less = [v = v_](entry const& a, entry const& b) {
      if (a.prefix != b.prefix) [[likely]]
        return a.prefix < b.prefix;
      return Order == natural::descending ? v[b.index] < v[a.index] : v[a.index] < v[b.index];
    };
    detail::quicksort_in_parallel(tree_, c, entries.get(), static_cast<std::ptrdiff_t>(n_), less);
    tree_.throw_if_stopped();
    permute(c, entries.get(), static_cast<std::string*>(room.get()));
    return true;
  }
};

} // namespace rubato::detail
