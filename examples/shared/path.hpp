#pragma once

#include <string>

namespace example {

/// The path of a name in a directory.
inline std::string join_path(const std::string& directory, const std::string& name) {
  std::string joined;
  joined.reserve(directory.size() + 1 + name.size());
  joined += directory;
  if (!joined.empty() && !joined.ends_with('/')) joined += '/';
  joined += name;
  return joined;
}

} // namespace example
