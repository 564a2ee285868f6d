// What is saved for a user: values by key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace savegame {

/// As a text it has a line `key=value` for each key, in the order of the keys. The key `revision` counts the
/// saves.
class profile {
  std::map<std::string, std::string, std::less<>> values_;

public:
  /// Throws failure (400): a line is none.
  explicit profile(std::string_view text);
  profile() = default;

  /// Sets what the lines of the text say; `key=` removes the key. Raises the revision.
  void edit(std::string_view lines);
  /// Throws failure (413) if its text is longer than this.
  void check(std::size_t largest) const;
  std::string text() const;
  std::uint64_t revision() const;
};

/// zlib: a few milliseconds per megabyte.
std::string deflated(std::string_view text);
/// Throws failure (500): the bytes are damaged, or hold more than `largest`.
std::string inflated(std::string_view bytes, std::size_t largest);

/// Letters, digits, `-` and `_`; at most 64.
bool is_user_name(std::string_view name);

} // namespace savegame
