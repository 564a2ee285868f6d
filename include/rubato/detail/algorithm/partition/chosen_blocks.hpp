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
                   std::is_copy_constructible_v<std::iter_value_t<I>> &&
                   std::is_copy_assignable_v<std::iter_value_t<I>> && sizeof(std::iter_value_t<I>) <= 16;

/// Copies what test chooses of [lo, hi) to the output, and returns the end. Nothing behind that is written:
/// the last one is found first, and until it is copied there is a place for an element that is not chosen,
/// too. Two elements are read before one is written: so compilers know that no store changes them.
template<class T, class Test>
[[gnu::noinline]] T* pack(Test const& test, std::uint64_t lo, std::uint64_t hi, T* out) {
  Test const mine = test;
  auto* c = mine.cursor(lo);
  auto* last = mine.cursor(hi);
  do {
    if (c == last) return out;
    --last;
  } while (!mine(last));
  for (; last - c >= 2; c += 2) {
    T const x = c[0], y = c[1];
    bool const a = mine(c), b = mine(c + 1);
    *out = x;
    out += a;
    *out = y;
    out += b;
  }
  if (c != last) {
    bool const chosen = mine(c);
    *out = *c;
    out += chosen;
  }
  *out = *last;
  return out + 1;
}

/// The end of a vector as an output. Unlike std::back_inserter() it takes several elements at once.
template<class T>
class appender {
  std::vector<T>* values_;

public:
  /// True if append_by() may make elements before they are written.
  static constexpr bool makes_room = std::is_nothrow_default_constructible_v<T> && !std::is_same_v<T, bool>;

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
  /// Room for what n elements are expected to leave, as the first `done` of them have left what is there.
  void reserve(std::uint64_t done, std::uint64_t n) {
    auto const all = static_cast<double>(n);
    double const expected = static_cast<double>(values_->size()) * (all / static_cast<double>(done));
    values_->reserve(static_cast<std::size_t>(std::min(all, expected * 1.125 + 64)));
  }
  /// Calls pack_to(k, room for k elements) for n elements in all; it returns the end of what it has written.
  /// The vector is longer meanwhile than what is in it, because many elements are made in less time at once.
  template<class F>
  void append_by(std::uint64_t n, F pack_to) {
    constexpr std::uint64_t least = 512;
    std::size_t used = values_->size();
    while (n != 0) {
      if (values_->size() - used < std::min(n, least))
        values_->resize(std::min<std::size_t>(
            used + n, std::max<std::size_t>({values_->capacity(), 2 * used, used + least})));
      auto const k = std::min<std::uint64_t>(n, values_->size() - used);
      used = static_cast<std::size_t>(pack_to(k, values_->data() + used) - values_->data());
      n -= k;
    }
    values_->resize(used);
  }
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
  raw_memory<T> const room_;
  std::array<std::uint32_t, Blocks> chosen_{};

public:
  packed_blocks(Test const& test, std::uint32_t block)
      : test_(test)
      , room_(std::size_t{Blocks} * block) {}

  [[nodiscard]] bool has_memory() const noexcept { return room_.get() != nullptr; }
  [[nodiscard]] std::uint32_t number(std::uint64_t block) const noexcept { return chosen_[block]; }
  void is_written(std::uint64_t block) noexcept { chosen_[block] = 0; }
  void choose(std::uint64_t block, std::uint64_t offset, std::uint64_t lo, std::uint64_t hi) {
    T* const room = room_.get() + offset;
    chosen_[block] = static_cast<std::uint32_t>(detail::pack(test_, lo, hi, room) - room);
  }
  template<class O>
  void write(std::uint64_t block, std::uint64_t offset, std::uint64_t /*lo*/, std::uint64_t /*hi*/,
             O out) const {
    detail::put(room_.get() + offset, chosen_[block], std::move(out));
  }
};

/// A mark for each element says whether it is chosen; it is copied from the range later.
template<class I, class Test, std::uint32_t Blocks>
class marked_blocks {
  I const& first_;
  Test const& test_;
  raw_memory<bool> const marks_;
  std::array<std::uint32_t, Blocks> chosen_{};

public:
  marked_blocks(I const& first, Test const& test, std::uint32_t block)
      : first_(first)
      , test_(test)
      , marks_(std::size_t{Blocks} * block) {}

  [[nodiscard]] bool has_memory() const noexcept { return marks_.get() != nullptr; }
  [[nodiscard]] std::uint32_t number(std::uint64_t block) const noexcept { return chosen_[block]; }
  void is_written(std::uint64_t block) noexcept { chosen_[block] = 0; }
  void choose(std::uint64_t block, std::uint64_t offset, std::uint64_t lo, std::uint64_t hi) {
    bool* mark = marks_.get() + offset;
    std::uint32_t sum = 0;
    for (auto c = test_.cursor(lo); lo != hi; ++lo, void(), ++c) sum += * mark++ = test_(c);
    chosen_[block] = sum;
  }
  template<class O>
  void write(std::uint64_t block, std::uint64_t offset, std::uint64_t lo, std::uint64_t hi, O out) const {
    if (chosen_[block] == 0) return;
    bool const* mark = marks_.get() + offset;
    for (auto c = detail::cursor_at(first_, lo); lo != hi; ++lo, void(), ++c)
      if (*mark++) {
        *out = *c;
        ++out;
      }
  }
};

} // namespace rubato::detail
