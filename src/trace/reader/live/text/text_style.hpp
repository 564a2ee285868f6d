// How frames are written: which characters and colours the reader can show. docs/design/live.md
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rubato::detail {

struct text_style {
  bool colours = false;
  bool moves = false;  ///< the cursor can be moved
  bool blocks = false; ///< U+2588 and its like; else ASCII
  unsigned columns = 100;
  unsigned rows = 0; ///< 0: as many as it takes
};

/// By NO_COLOR, TERM and the locale of the environment. `is_terminal`: else it has no colours and no moves.
[[nodiscard]] text_style style_of_environment(bool is_terminal);

/// The numbers of SGR.
enum class colour : unsigned char {
  plain = 0,
  bold = 1,
  dim = 2,
  red = 31,
  green = 32,
  yellow = 33,
  magenta = 35,
  cyan = 36
};

/// A line that is cut at the last column. Counts what is seen.
class text_line {
  text_style const& style_;
  std::string text_;
  unsigned used_ = 0;

  [[nodiscard]] unsigned left() const noexcept { return style_.columns > used_ ? style_.columns - used_ : 0; }

public:
  explicit text_line(text_style const& style)
      : style_(style) {}

  /// Bytes that are no printable ASCII become '?': a name may be anything.
  void add(std::string_view text, colour c = colour::plain);
  /// At least so many columns, on the left or the right side of them.
  void add_left(std::string_view text, unsigned columns, colour c = colour::plain);
  void add_right(std::string_view text, unsigned columns, colour c = colour::plain);
  /// A bar of so many columns.
  void add_bar(double share, unsigned columns, colour c);
  /// One column: how high the share is.
  void add_level(double share, colour c);
  [[nodiscard]] unsigned columns_left() const noexcept { return left(); }
  [[nodiscard]] std::string const& text() const noexcept { return text_; }
};

/// Such as 1.2 ms, 37 s; 1,204, 3.1M.
[[nodiscard]] std::string short_time(std::int64_t ns);
[[nodiscard]] std::string short_number(double n);
/// At most so many characters, the end of which says that it was cut.
[[nodiscard]] std::string shortened_to(std::string_view text, std::size_t columns);

} // namespace rubato::detail
