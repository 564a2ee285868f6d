// How often each word occurs in a text: a table for each share of the text, and the tables are added up.
#pragma once

#include <rubato/algorithm.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace algorithms {

/// The words refer to the text.
using word_counts = std::unordered_map<std::string_view, std::uint64_t>;

namespace detail {

inline constexpr std::string_view spaces = " \t\n\v\f\r";

/// The text in pieces of about `size` bytes, none of which ends within a word.
inline std::vector<std::string_view> pieces_of(std::string_view text, std::size_t size) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(spaces, size), text.size());
    pieces.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return pieces;
}

inline void count_words_of(std::string_view piece, word_counts& counts) {
  for (;;) {
    piece.remove_prefix(std::min(piece.find_first_not_of(spaces), piece.size()));
    if (piece.empty()) return;
    const std::string_view word = piece.substr(0, piece.find_first_of(spaces));
    ++counts[word];
    piece.remove_prefix(word.size());
  }
}

/// Adds the smaller to the larger.
inline word_counts added(word_counts a, word_counts b) {
  if (a.size() < b.size()) std::swap(a, b);
  for (const auto& [word, count] : b) a[word] += count;
  return a;
}

} // namespace detail

/// Words are what lies between white space.
inline word_counts count_words(std::string_view text) {
  const auto pieces = detail::pieces_of(text, 64 * 1024);
  return rubato::fold(
      pieces, [] { return word_counts(); },
      [](word_counts& counts, std::string_view piece) { detail::count_words_of(piece, counts); },
      detail::added);
}

/// The `most` most frequent ones, of equally frequent ones those that come first in the alphabet.
inline std::vector<std::pair<std::string_view, std::uint64_t>> most_frequent(const word_counts& counts,
                                                                             std::size_t most) {
  std::vector<std::pair<std::string_view, std::uint64_t>> all(counts.begin(), counts.end());
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::ranges::partial_sort(all, middle, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  all.erase(middle, all.end());
  return all;
}

} // namespace algorithms
