// Blocks of a range, and which of their elements a predicate has chosen. Each element is tested once.
#pragma once

#include "rubato/detail/algorithm/elements.hpp"
#include "rubato/detail/algorithm/raw_memory.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato::detail {

/// Elements that are copied whether they are chosen or not, because that takes less time than a branch.
template<class I>
concept packable = std::contiguous_iterator<I> && std::is_trivially_copyable_v<std::iter_value_t<I>> &&
                   std::is_copy_assignable_v<std::iter_value_t<I>> && sizeof(std::iter_value_t<I>) <= 16;

/// The numbers of elements that were chosen of the front and of the back half of a block.
struct halves {
  std::uint32_t front = 0, back = 0;
  [[nodiscard]] std::uint32_t sum() const noexcept { return front + back; }
};

/// Copies what test chooses of [lo, hi) to `room`, of the back half to where it would lie if all were chosen.
/// Two halves: a processor adds up both counts at once, and each of them is what the next copy waits for.
template<class T, class Test>
[[gnu::noinline]] halves pack(Test const& test, std::uint64_t lo, std::uint64_t hi, T* room) {
  Test const mine = test;
  auto const half = static_cast<std::uint32_t>((hi - lo) / 2);
  auto const* a = mine.cursor(lo);
  auto const* b = a + half;
  T* front = room;
  T* back = room + half;
  for (std::uint32_t i = 0; i != half; ++i, ++a, ++b) {
    *front = *a;
    front += mine(a);
    *back = *b;
    back += mine(b);
  }
  if ((hi - lo) % 2 != 0) {
    *back = *b;
    back += mine(b);
  }
  return {static_cast<std::uint32_t>(front - room), static_cast<std::uint32_t>(back - (room + half))};
}

/// The end of a vector as an output. Unlike std::back_inserter() it takes several elements at once.
template<class T>
class appender {
  std::vector<T>* values_;

public:
  explicit appender(std::vector<T>& values) noexcept
      : values_(&values) {}
  appender& operator*() noexcept { return *this; }
  appender& operator++() noexcept { return *this; }
  template<class X>
  appender& operator=(X&& x) {
    values_->emplace_back(std::forward<X>(x));
    return *this;
  }
  void append(T const* from, std::uint32_t n) { values_->insert(values_->end(), from, from + n); }
};

template<class O, class T>
concept takes_bytes_of = std::contiguous_iterator<O> && std::is_same_v<std::iter_value_t<O>, T>;

/// Writes n elements to the output and returns its end.
template<class T, class O>
O put(T const* from, std::uint32_t n, O out) {
  if constexpr (takes_bytes_of<O, T>) {
    if (n != 0) std::memcpy(std::to_address(out), from, n * sizeof(T));
    return out + static_cast<std::iter_difference_t<O>>(n);
  } else if constexpr (std::is_same_v<O, appender<T>>) {
    out.append(from, n);
    return out;
  } else {
    for (std::uint32_t i = 0; i != n; ++i, ++out) *out = from[i];
    return out;
  }
}
/// The same for what pack() has left of a block of `size` elements.
template<class T, class O>
O put_halves(T const* room, std::uint32_t size, halves n, O out) {
  return put(room + size / 2, n.back, put(room, n.front, std::move(out)));
}

/// What is chosen lies in a room for each block.
template<class Test, class T, std::uint32_t Blocks>
class packed_blocks {
  Test const& test_;
  std::uint32_t const most_; // elements of a block
  raw_memory<T> const room_;
  std::array<halves, Blocks> chosen_{};

public:
  packed_blocks(Test const& test, std::uint32_t block)
      : test_(test)
      , most_(block)
      , room_(std::size_t{Blocks} * block) {}

  [[nodiscard]] bool has_memory() const noexcept { return room_.get() != nullptr; }
  [[nodiscard]] std::uint32_t number(std::uint64_t block) const noexcept { return chosen_[block].sum(); }
  void choose(std::uint64_t block, std::uint64_t lo, std::uint64_t hi) {
    chosen_[block] = pack(test_, lo, hi, room_.get() + block * most_);
  }
  template<class O>
  void write(std::uint64_t block, std::uint64_t lo, std::uint64_t hi, O out) const {
    put_halves(room_.get() + block * most_, static_cast<std::uint32_t>(hi - lo), chosen_[block],
               std::move(out));
  }
};

/// A mark for each element says whether it is chosen; it is copied from the range later.
template<class I, class Test, std::uint32_t Blocks>
class marked_blocks {
  I const& first_;
  Test const& test_;
  std::uint32_t const most_;
  raw_memory<bool> const marks_;
  std::array<std::uint32_t, Blocks> chosen_{};

public:
  marked_blocks(I const& first, Test const& test, std::uint32_t block)
      : first_(first)
      , test_(test)
      , most_(block)
      , marks_(std::size_t{Blocks} * block) {}

  [[nodiscard]] bool has_memory() const noexcept { return marks_.get() != nullptr; }
  [[nodiscard]] std::uint32_t number(std::uint64_t block) const noexcept { return chosen_[block]; }
  void choose(std::uint64_t block, std::uint64_t lo, std::uint64_t hi) {
    bool* mark = marks_.get() + block * most_;
    std::uint32_t sum = 0;
    for (auto c = test_.cursor(lo); lo != hi; ++lo, ++c) sum += * mark++ = test_(c);
    chosen_[block] = sum;
  }
  template<class O>
  void write(std::uint64_t block, std::uint64_t lo, std::uint64_t hi, O out) const {
    bool const* mark = marks_.get() + block * most_;
    for (auto c = cursor_at(first_, lo); lo != hi; ++lo, ++c)
      if (*mark++) {
        *out = *c;
        ++out;
      }
  }
};

} // namespace rubato::detail
