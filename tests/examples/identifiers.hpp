// The program under test, and the one it is compared with.
#pragma once

#include "examples/child.hpp"

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace rubato_test {

using strings = std::vector<std::string>;

inline outcome identifiers(strings arguments, child::setting how = {}) {
  arguments.insert(arguments.begin(), IDENTIFIERS_PROGRAM);
  return run(std::move(arguments), how);
}

/// Every identifier with its count, the most frequent first: what grep finds.
inline std::string counted_by_grep(strings paths) {
  strings command{
      "/bin/sh", "-c",
      "export LC_ALL=C; grep -raohE '[A-Za-z_][A-Za-z0-9_]*' -- \"$@\" | sort | uniq -c | sort -s -k1,1nr",
      "sh"};
  command.insert(command.end(), paths.begin(), paths.end());
  return run(std::move(command)).out;
}

/// The table at the head of the report.
inline std::string table_of(const outcome& result) {
  if (result.out.starts_with('\n')) return {};
  return result.out.substr(0, result.out.find("\n\n") + 1);
}

/// Where two tables differ first: a whole table is no message.
inline std::string difference(const std::string& a, const std::string& b) {
  if (a == b) return "none";
  std::size_t at = 0;
  while (at < a.size() && at < b.size() && a[at] == b[at]) ++at;
  const auto around = [at](const std::string& text) { return text.substr(at < 60 ? 0 : at - 60, 120); };
  return "at " + std::to_string(at) + ":\n" + around(a) + "\nagainst\n" + around(b);
}

} // namespace rubato_test
