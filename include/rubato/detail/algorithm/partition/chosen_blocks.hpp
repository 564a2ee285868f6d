// Blocks of a range, and which of their elements a predicate has chosen. Each element is tested once.
#pragma once

#include "rubato/detail/algorithm/elements.hpp"
#include "rubato/detail/algorithm/order/raw_memory.hpp"

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

/// Copies what test chooses of [lo, hi) to `room`, which has room for all, and returns how many. Four
/// elements at a time: so the next copy waits for one addition in four.
template<class T, class Test>
[[gnu::noinline]] std::uint32_t pack(Test const& test, std::uint64_t lo, std::uint64_t hi, T* room) {
  Test const mine = test;
  T* out = room;
  auto* c = mine.cursor(lo);
  for (; hi - lo >= 4; lo += 4, c += 4) {
    std::size_t const a = mine(c), b = a + mine(c + 1), d = b + mine(c + 2), e = d + mine(c + 3);
    out[0] = c[0];
    out[a] = c[1];
    out[b] = c[2];
    out[d] = c[3];
    out += e;
  }
  for (; lo != hi; ++lo, void(), ++c) {
    bool const chosen = mine(c);
    *out = *c;
    out += chosen;
  }
  return static_cast<std::uint32_t>(out - room);
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
    for (std::uint32_t i = 0; i != n; ++i, void(), ++out) *out = from[i];
    return out;
  }
}
/// What is chosen lies in a room for each block.
template<class Test, class T, std::uint32_t Blocks>
class packed_blocks {
  Test const& test_;
  std::uint32_t const most_; // elements of a block
  raw_memory<T> const room_;
  std::array<std::uint32_t, Blocks> chosen_{};

public:
  packed_blocks(Test const& test, std::uint32_t block)
      : test_(test)
      , most_(block)
      , room_(std::size_t{Blocks} * block) {}

  [[nodiscard]] bool has_memory() const noexcept { return room_.get() != nullptr; }
  [[nodiscard]] std::uint32_t number(std::uint64_t block) const noexcept { return chosen_[block]; }
  void choose(std::uint64_t block, std::uint64_t lo, std::uint64_t hi) {
    chosen_[block] = detail::pack(test_, lo, hi, room_.get() + block * most_);
  }
  template<class O>
  void write(std::uint64_t block, std::uint64_t /*lo*/, std::uint64_t /*hi*/, O out) const {
    detail::put(room_.get() + block * most_, chosen_[block], std::move(out));
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
    for (auto c = test_.cursor(lo); lo != hi; ++lo, void(), ++c) sum += * mark++ = test_(c);
    chosen_[block] = sum;
  }
  template<class O>
  void write(std::uint64_t block, std::uint64_t lo, std::uint64_t hi, O out) const {
    bool const* mark = marks_.get() + block * most_;
    for (auto c = detail::cursor_at(first_, lo); lo != hi; ++lo, void(), ++c)
      if (*mark++) {
        *out = *c;
        ++out;
      }
  }
};

} // namespace rubato::detail
