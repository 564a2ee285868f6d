// The counts of one thread.
#pragma once

#include "arena.hpp"
#include "word_table.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace identifiers {

/// Identifiers are dealt out to this many tables by their hash. The tables of equal index of all threads hold
/// the same identifiers, so tables of different index can be merged in parallel.
inline constexpr unsigned partition_bits = 6;
inline constexpr std::size_t partitions = std::size_t{1} << partition_bits;

/// A file or directory that could not be read to its end.
struct problem {
  std::string path;
  std::string reason;
};

struct counters {
  std::uint64_t files = 0;       ///< read to their end
  std::uint64_t bytes = 0;       ///< read
  std::uint64_t directories = 0; ///< listed
  std::uint64_t symlinks = 0;    ///< met and not followed
  std::uint64_t special = 0;     ///< FIFOs, sockets and devices met and not opened
  std::uint64_t streams =
      0; ///< FIFOs and devices that the user named: they were read, and cannot be read again

  void add(const counters& other) {
    files += other.files;
    bytes += other.bytes;
    directories += other.directories;
    symlinks += other.symlinks;
    special += other.special;
    streams += other.streams;
  }
};

struct tally {
  counters seen;
  std::vector<problem> problems;
  std::array<word_table, partitions> tables;
  arena texts;
  std::vector<char> buffer =
      std::vector<char>(256 * 1024); // fits into the second-level cache; large enough that reads are few

  void count(std::string_view identifier) {
    // The highest bits choose the table, the lowest the place in it.
    const std::uint64_t hash = std::hash<std::string_view>{}(identifier);
    tables[hash >> (64 - partition_bits)].add(identifier, hash, 1,
                                              [this](std::string_view text) { return texts.keep(text); });
  }
};

} // namespace identifiers
