// Finds where a text ends in a stream of which more and more is there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace rubato::detail {

class text_end {
  std::string const delimiter_;
  bool const is_line_; ///< a '\r' before the delimiter belongs to it
  std::size_t const limit_;
  std::size_t searched_ = 0; ///< the delimiter does not begin before

public:
  enum class found : unsigned char { nothing, text, too_long };
  struct result {
    found what = found::nothing;
    std::size_t text = 0;  ///< its size
    std::size_t whole = 0; ///< with the delimiter
  };

  text_end(std::string delimiter, bool is_line, std::size_t limit) noexcept
      : delimiter_(std::move(delimiter))
      , is_line_(is_line)
      , limit_(limit) {}

  /// In the stream, of which `bytes` are there: those of the call before, and more. Each byte is searched
  /// once.
  [[nodiscard]] result find(std::string_view bytes) noexcept {
    std::size_t const end_size = delimiter_.size() + (is_line_ ? 1 : 0);
    // A delimiter that begins later would end too long a text.
    if (bytes.size() > end_size && bytes.size() - end_size > limit_)
      bytes = bytes.substr(0, limit_ + end_size);
    std::size_t const at = bytes.find(delimiter_, searched_);
    if (at != bytes.npos) {
      std::size_t const text = at - (is_line_ && at != 0 && bytes[at - 1] == '\r' ? 1 : 0);
      if (text > limit_) return {.what = found::too_long};
      return {.what = found::text, .text = text, .whole = at + delimiter_.size()};
    }
    searched_ = std::max(searched_, bytes.size() + 1 - std::min(bytes.size() + 1, delimiter_.size()));
    bool const is_too_long = bytes.size() > limit_ && bytes.size() - begun_in(bytes) > limit_;
    return {.what = is_too_long ? found::too_long : found::nothing};
  }
  /// The same, when no more bytes come and find() has found nothing.
  [[nodiscard]] result at_end(std::string_view bytes) const noexcept {
    if (bytes.size() > limit_) return {.what = found::too_long};
    return {.what = found::text, .text = bytes.size(), .whole = bytes.size()};
  }

private:
  /// How many of the last bytes may be the beginning of the delimiter.
  [[nodiscard]] std::size_t begun_in(std::string_view bytes) const noexcept {
    if (is_line_) return bytes.ends_with('\r') ? 1 : 0;
    for (std::size_t n = std::min(delimiter_.size() - 1, bytes.size()); n != 0; --n)
      if (bytes.ends_with(std::string_view(delimiter_).substr(0, n))) return n;
    return 0;
  }
};

} // namespace rubato::detail
