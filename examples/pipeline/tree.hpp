// The files below a directory, and their contents, a part at a time.
#pragma once

#include "catalogue.hpp"
#include "shared/system.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace pipeline {

/// How many files to read at a time: while one waits for the disk there is another to work on.
constexpr unsigned readers_for(unsigned workers) { return workers == 0 ? 1 : 2 * workers; }

/// A file that has been seen in its directory, and not been opened.
struct found_file {
  std::shared_ptr<const example::directory> parent; // open until its last file is
  std::string path;                                 ///< below the root
};

/// Lists a tree, a directory at a time.
class tree_walk {
  std::string root_;
  std::shared_ptr<example::directory> first_;
  std::vector<std::string> left_; // directories below the root that have not been listed
  surroundings met_;

public:
  /// Throws std::system_error if this is no directory, or cannot be opened.
  explicit tree_walk(std::string root);
  /// The files of the next directory; nothing after the last one. A directory that cannot be listed becomes a
  /// problem.
  std::optional<std::vector<found_file>> next();
  const surroundings& met() const { return met_; }
};

/// Some bytes of a file, or the reason that there are no more.
struct part {
  std::unique_ptr<char[]> bytes;
  std::size_t size = 0;
  std::error_code error;
};

/// A file that is being read.
class source {
  std::optional<example::descriptor> file_;
  std::uint64_t expected_ = 0; // a hint: it may grow or shrink meanwhile
  std::error_code error_;
  bool over_ = false;

public:
  /// Opens it. The first part reports an error.
  explicit source(const found_file& file);
  /// As much as fits into one part.
  part next();
  /// True after the last part.
  bool over() const { return over_; }
};

} // namespace pipeline
