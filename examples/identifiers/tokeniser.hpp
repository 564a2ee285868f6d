// Finds the identifiers in a text.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace identifiers {

enum class byte_class : std::uint8_t { gap, digit, letter };

/// ASCII whatever the locale: the identifiers of source code, and those of `LC_ALL=C grep`.
inline constexpr auto byte_classes = [] {
  std::array<byte_class, 256> classes{};
  for (unsigned c = '0'; c <= '9'; ++c) classes[c] = byte_class::digit;
  for (unsigned c = 'a'; c <= 'z'; ++c) classes[c] = byte_class::letter;
  for (unsigned c = 'A'; c <= 'Z'; ++c) classes[c] = byte_class::letter;
  classes['_'] = byte_class::letter;
  return classes;
}();

// Function objects, which std::find_if inlines.
inline constexpr auto priority_of = [](char c) { return byte_classes[static_cast<unsigned char>(c)]; };
inline constexpr auto is_gap = [](char c) { return priority_of(c) == byte_class::gap; };
inline constexpr auto is_digit = [](char c) { return priority_of(c) == byte_class::digit; };

/// Cuts bytes that come in pieces into identifiers and gives each to `sink(std::string_view)`.
///
/// A *run* is a longest sequence of letters, digits and underscores. A run without its leading digits is an
/// identifier: "0x1F" holds "x1F", as a search for [A-Za-z_][A-Za-z0-9_]* finds it. A
/// run may go on from one piece to the next.
template<class Sink>
class tokeniser {
  /// Where the last piece ended: in a gap, or in a run of which only digits were seen, in an identifier, or
  /// in a run that belongs to another part.
  enum class place : std::uint8_t { gap, digits, identifier, foreign };

  Sink sink_;
  place place_ = place::gap;
  std::string begun_; // of the identifier in which the last piece ended

  const char* resume(const char* at, const char* end) {
    if (place_ == place::digits) {
      at = std::find_if_not(at, end, is_digit);
      if (at == end) return end;
      place_ = place::identifier; // if a gap follows, an empty one
    }
    const char* const stop = std::find_if(at, end, is_gap);
    if (place_ == place::identifier) begun_.append(at, stop);
    if (stop != end) finish();
    return stop;
  }

public:
  explicit tokeniser(Sink sink)
      : sink_(std::move(sink)) {}

  /// If the next piece begins within a run, its first part is not counted here.
  void begin_in_foreign_run() { place_ = place::foreign; }
  /// Is a run open that is counted here?
  bool in_own_run() const { return place_ == place::digits || place_ == place::identifier; }

  void feed(std::string_view piece) {
    const char* at = piece.data();
    const char* const end = at + piece.size();
    if (place_ != place::gap) at = resume(at, end);
    while (true) {
      at = std::find_if_not(at, end, is_gap);
      if (at == end) return;
      const char* const first = std::find_if_not(at, end, is_digit);
      at = std::find_if(first, end, is_gap);
      if (at == end) {
        place_ = first == end ? place::digits : place::identifier;
        begun_.assign(first, end);
        return;
      }
      if (first != at) sink_(std::string_view(first, at));
    }
  }

  /// Ends an open run: nothing follows, or a gap.
  void finish() {
    if (!begun_.empty()) sink_(std::string_view(begun_));
    begun_.clear();
    place_ = place::gap;
  }
};

} // namespace identifiers
