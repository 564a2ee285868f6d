// Reading the small files in which the kernel describes the machine.
#pragma once

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace rubato::os {

/// As much of the beginning of a file as the buffer holds; nothing if it cannot be read. Takes no memory.
[[nodiscard]] std::string_view read_start(char const* path, std::span<char> buffer) noexcept;

/// All of a file; nothing if it cannot be read.
[[nodiscard]] std::optional<std::string> read_file(std::string const& path);

// Paths are strings: where memory is short, some functions of std::filesystem end the program.

/// The path of that name in a directory.
[[nodiscard]] inline std::string path_in(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.ends_with('/') && !name.empty() && !name.starts_with('/')) path += '/';
  return path.append(name);
}

/// The names in a directory; none if it cannot be read. Throws std::bad_alloc.
[[nodiscard]] std::vector<std::string> names_in(std::string const& directory);

/// Cuts off and returns the text before the next `separator`, and drops the separator: all of `text` if there
/// is none.
inline std::string_view cut(std::string_view& text, char separator) noexcept {
  auto const end = text.find(separator);
  auto const head = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return head;
}

/// A whole number, surrounded by nothing but blanks.
template<class T>
std::optional<T> parse_number(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t\r\n";
  auto const first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  text = text.substr(first, text.find_last_not_of(blanks) + 1 - first);
  T value{};
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

/// The whole number that is all of a file.
template<class T>
std::optional<T> read_number(std::string const& path) {
  auto const text = read_file(path);
  return text ? parse_number<T>(*text) : std::nullopt;
}

} // namespace rubato::os
