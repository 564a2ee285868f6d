#include "trace/reader/live/text/text_style.hpp"

#include "os/io/mapped_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace rubato::detail {

namespace {

std::string_view variable(char const* name) noexcept {
  char const* const value = os::environment(name);
  return value != nullptr ? value : std::string_view();
}

bool is_utf8_locale() noexcept {
  for (char const* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) // the first that is set counts
    if (std::string_view const v = variable(name); !v.empty())
      return v.find("UTF-8") != v.npos || v.find("utf8") != v.npos || v.find("UTF8") != v.npos ||
             v.find("utf-8") != v.npos;
  return false;
}

constexpr std::array<std::string_view, 9> levels{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> parts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
constexpr std::string_view ascii_levels = " .:-=+*#@";

std::string in_colour(std::string_view text, colour c, bool colours) {
  if (!colours || c == colour::plain || text.empty()) return std::string(text);
  return "\x1b[" + std::to_string(static_cast<unsigned>(c)) + 'm' + std::string(text) + "\x1b[0m";
}

} // namespace

text_style style_of_environment(bool is_terminal) {
  std::string_view const term = variable("TERM");
  text_style s;
  s.blocks = is_utf8_locale() && term != "dumb";
  s.moves = is_terminal && !term.empty() && term != "dumb";
  s.colours = s.moves && variable("NO_COLOR").empty();
  return s;
}

void text_line::add(std::string_view text, colour c) {
  std::string shown(text.substr(0, left()));
  for (char& ch : shown)
    if (ch < ' ' || ch > '~') ch = '?';
  used_ += static_cast<unsigned>(shown.size());
  text_ += in_colour(shown, c, style_.colours);
}

void text_line::add_left(std::string_view text, unsigned columns, colour c) {
  add(text, c);
  if (text.size() < columns) add(std::string(columns - text.size(), ' '));
}

void text_line::add_right(std::string_view text, unsigned columns, colour c) {
  if (text.size() < columns) add(std::string(columns - text.size(), ' '));
  add(text, c);
}

void text_line::add_bar(double share, unsigned columns, colour c) {
  columns = std::min(columns, left());
  auto const eighths =
      static_cast<unsigned>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(columns) * 8));
  unsigned const whole = style_.blocks ? eighths / 8 : (eighths + 4) / 8;
  std::string bar, rest;
  for (unsigned i = 0; i != whole; ++i) bar += style_.blocks ? "█" : "#";
  unsigned shown = whole;
  if (style_.blocks && eighths % 8 != 0) {
    bar += parts[eighths % 8];
    ++shown;
  }
  for (; shown != columns; ++shown) rest += style_.blocks ? "·" : ".";
  used_ += columns;
  text_ += in_colour(bar, c, style_.colours) + in_colour(rest, colour::dim, style_.colours);
}

void text_line::add_level(double share, colour c) {
  if (left() == 0) return;
  auto const level = static_cast<std::size_t>(std::ceil(std::clamp(share, 0.0, 1.0) * 8 - 0.01));
  ++used_;
  text_ += in_colour(style_.blocks ? levels[level] : ascii_levels.substr(level, 1), c, style_.colours);
}

std::string short_time(std::int64_t ns) {
  auto const n = static_cast<double>(ns);
  std::array<char, 40> text;
  if (ns < 1'000)
    std::snprintf(text.data(), text.size(), "%lld ns", static_cast<long long>(ns));
  else if (ns < 1'000'000)
    std::snprintf(text.data(), text.size(), ns < 10'000 ? "%.1f us" : "%.0f us", n / 1e3);
  else if (ns < 1'000'000'000)
    std::snprintf(text.data(), text.size(), ns < 10'000'000 ? "%.1f ms" : "%.0f ms", n / 1e6);
  else if (ns < 120'000'000'000)
    std::snprintf(text.data(), text.size(), "%.1f s", n / 1e9);
  else if (ns < 7'200'000'000'000)
    std::snprintf(text.data(), text.size(), "%.0f min", n / 60e9);
  else
    std::snprintf(text.data(), text.size(), "%.1f h", n / 3600e9);
  return text.data();
}

std::string short_number(double n) {
  std::array<char, 40> text;
  if (n < 9.95 && n > 0.05 && std::fabs(n - std::round(n)) > 0.05)
    std::snprintf(text.data(), text.size(), "%.1f", n);
  else if (n < 999.5)
    std::snprintf(text.data(), text.size(), "%.0f", n);
  else if (n < 99'999.5)
    std::snprintf(text.data(), text.size(), "%d,%03d", static_cast<int>(std::lround(n)) / 1000,
                  static_cast<int>(std::lround(n)) % 1000);
  else if (n < 999'500)
    std::snprintf(text.data(), text.size(), "%.0fk", n / 1e3);
  else if (n < 999.5e6)
    std::snprintf(text.data(), text.size(), n < 99.5e6 ? "%.1fM" : "%.0fM", n / 1e6);
  else
    std::snprintf(text.data(), text.size(), "%.1fG", n / 1e9);
  return text.data();
}

std::string shortened_to(std::string_view text, std::size_t columns) {
  if (text.size() <= columns) return std::string(text);
  if (columns <= 3) return std::string(text.substr(0, columns));
  return std::string(text.substr(0, columns - 3)) + "...";
}

} // namespace rubato::detail
