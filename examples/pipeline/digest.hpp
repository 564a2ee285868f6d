// Computes a file's manifest entry from its bytes.
#pragma once

#include "catalogue.hpp"
#include "tree.hpp"

#include <zlib.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pipeline {

/// Inflates a file that begins as a gzip file does, whatever its name, and sums up any other file as it is.
/// Call begin(), feed() for each part, end().
class digest {
  enum class state { unknown, plain, in_member, between_members, failed };

  state state_ = state::unknown;
  std::uint64_t size_ = 0;
  std::uint64_t inflated_ = 0;
  unsigned long crc_ = 0;
  std::string failure_;
  z_stream stream_{};
  std::vector<unsigned char> out_ = std::vector<unsigned char>(64 * 1024);

  void sum_up(std::span<const unsigned char> bytes);
  void inflate_all(std::span<const unsigned char> bytes);
  void fail(std::string why);

public:
  digest();
  digest(const digest&) = delete;
  digest& operator=(const digest&) = delete;
  ~digest();

  void begin();
  /// False: it has failed, and more parts would change nothing.
  bool feed(const part& next);
  outcome end(std::string path);
};

} // namespace pipeline
