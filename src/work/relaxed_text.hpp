// A short text that a thread writes and any thread may read at the same time, in a report.
#pragma once

#include "rubato/detail/base/atomics.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace rubato::detail {

/// A reader may get a mixture of two texts. Longer texts are cut.
class relaxed_text {
  static constexpr std::size_t words = 6, bytes = words * sizeof(std::uint64_t);
  std::array<relaxed<std::uint64_t>, words> words_;

public:
  /// Null: the empty text.
  void set(char const* text) noexcept {
    std::array<char, bytes> chars{};
    if (text != nullptr) std::memcpy(chars.data(), text, std::min(std::strlen(text), bytes));
    for (std::size_t i = 0; i != words; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, chars.data() + i * sizeof word, sizeof word);
      words_[i].set(word);
    }
  }
  [[nodiscard]] std::string get() const {
    std::array<char, bytes> chars{};
    for (std::size_t i = 0; i != words; ++i) {
      std::uint64_t const word = words_[i].get();
      std::memcpy(chars.data() + i * sizeof word, &word, sizeof word);
    }
    return {chars.begin(), std::find(chars.begin(), chars.end(), '\0')};
  }
};

} // namespace rubato::detail
