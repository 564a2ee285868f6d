// The storage of the identifiers' text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace identifiers {

/// Keeps copies of texts, packed, at addresses that stay until the arena is gone, also when it is moved.
class arena {
  static constexpr std::size_t block_size = 64 * 1024;

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* free_ = nullptr;
  std::size_t left_ = 0;

public:
  arena() = default;
  arena(arena&&) = default;
  arena& operator=(arena&&) = default;

  std::string_view keep(std::string_view text) {
    if (text.size() > left_) {
      left_ = std::max(block_size, text.size());
      free_ = blocks_.emplace_back(std::make_unique_for_overwrite<char[]>(left_)).get();
    }
    char* const copy = free_;
    std::copy(text.begin(), text.end(), copy);
    free_ += text.size();
    left_ -= text.size();
    return {copy, text.size()};
  }
};

} // namespace identifiers
