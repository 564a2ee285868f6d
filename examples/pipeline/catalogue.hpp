// The result of reading a whole tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pipeline {

struct record {
  std::string path;           ///< below the root
  std::uint64_t size = 0;     ///< bytes in the file
  std::uint64_t inflated = 0; ///< bytes in what it holds: the same unless it is compressed
  std::uint32_t crc32 = 0;    ///< of what it holds
};

/// A file or directory that could not be read to its end, or not be inflated.
struct problem {
  std::string path; ///< below the root; empty: the root itself
  std::string reason;
};

/// The result of one file.
using outcome = std::variant<record, problem>;

/// Counts of the walk's other entries.
struct surroundings {
  std::uint64_t directories = 0;
  std::uint64_t symlinks = 0; ///< not followed
  std::uint64_t special = 0;  ///< FIFOs, sockets and devices: not opened
  std::vector<problem> problems;
};

inline bool by_path(const record& a, const record& b) { return a.path < b.path; }

struct catalogue {
  std::vector<record> files;     ///< by path
  std::vector<problem> problems; ///< by path
  surroundings around;           ///< its problems have moved to those above
  std::uint64_t size = 0;        ///< of all files
  std::uint64_t inflated = 0;

  void add(outcome about) {
    if (auto* const failed = std::get_if<problem>(&about)) {
      problems.push_back(std::move(*failed));
      return;
    }
    files.push_back(std::get<record>(std::move(about)));
    size += files.back().size;
    inflated += files.back().inflated;
  }
  /// Called last, after the files have been sorted.
  void finish(surroundings met) {
    around = std::move(met);
    std::ranges::move(around.problems, std::back_inserter(problems));
    around.problems.clear();
    std::ranges::sort(problems, {}, &problem::path);
  }
};

} // namespace pipeline
