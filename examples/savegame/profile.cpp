#include "profile.hpp"

#include "failure.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <new>

namespace savegame {

namespace {

constexpr std::string_view revision_key = "revision";
constexpr std::size_t longest_name = 64;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}
bool is_key(std::string_view key) {
  return !key.empty() && key.size() <= longest_name &&
         std::ranges::all_of(key, [](char c) { return is_name_character(c) || c == '.'; });
}
bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }

/// Calls f(key, value) for each line.
template<class F>
void for_each_line(std::string_view text, F f) {
  for (std::size_t line = 1; !text.empty(); ++line) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto whole = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto equals = whole.find('=');
    if (equals == whole.npos || !is_key(whole.substr(0, equals)) || std::ranges::any_of(whole, is_control))
      throw failure(400, "line " + std::to_string(line) + " is no key=value");
    f(whole.substr(0, equals), whole.substr(equals + 1));
  }
}

} // namespace

profile::profile(std::string_view text) {
  for_each_line(text, [&](auto key, auto value) { values_.emplace_hint(values_.end(), key, value); });
}

void profile::edit(std::string_view lines) {
  const auto next = revision() + 1;
  for_each_line(lines, [&](auto key, auto value) {
    if (const auto old = values_.find(key); old == values_.end())
      values_.emplace(key, value);
    else
      old->second = value;
  });
  std::erase_if(values_, [](const auto& v) { return v.second.empty(); });
  values_.insert_or_assign(std::string(revision_key), std::to_string(next));
}

void profile::check(std::size_t largest) const {
  std::size_t size = 0;
  for (const auto& [key, value] : values_) size += key.size() + value.size() + 2;
  if (size > largest)
    throw failure(413, "the save would be larger than " + std::to_string(largest) + " bytes");
}

std::string profile::text() const {
  std::string all;
  for (const auto& [key, value] : values_) all.append(key).append("=").append(value).append("\n");
  return all;
}

std::uint64_t profile::revision() const {
  std::uint64_t n = 0;
  if (const auto at = values_.find(revision_key); at != values_.end())
    std::from_chars(at->second.data(), at->second.data() + at->second.size(), n);
  return n;
}

std::string deflated(std::string_view text) {
  auto size = ::compressBound(static_cast<uLong>(text.size()));
  std::string bytes(size, '\0');
  if (::compress(reinterpret_cast<Bytef*>(bytes.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
                 static_cast<uLong>(text.size())) != Z_OK)
    throw std::bad_alloc();
  bytes.resize(size);
  return bytes;
}

std::string inflated(std::string_view bytes, std::size_t largest) {
  z_stream z{};
  if (::inflateInit(&z) != Z_OK) throw std::bad_alloc();
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data())); // NOLINT: zlib does not write there
  z.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::array<char, 32 * 1024> some; // NOLINT(cppcoreguidelines-pro-type-member-init): zlib fills it
  int result = Z_OK;
  while (result == Z_OK && text.size() <= largest) {
    z.next_out = reinterpret_cast<Bytef*>(some.data());
    z.avail_out = static_cast<uInt>(some.size());
    result = ::inflate(&z, Z_NO_FLUSH);
    text.append(some.data(), some.size() - z.avail_out);
  }
  ::inflateEnd(&z);
  if (result != Z_STREAM_END || z.avail_in != 0 || text.size() > largest)
    throw failure(500, "the stored save is damaged");
  return text;
}

bool is_user_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_name && std::ranges::all_of(name, is_name_character);
}

} // namespace savegame
