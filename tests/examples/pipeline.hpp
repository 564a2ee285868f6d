// The program under test, and what its manifest has to say.
#pragma once

#include "examples/child.hpp"

#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rubato_test {

using strings = std::vector<std::string>;

inline outcome pipeline(strings arguments, child::setting how = {}) {
  arguments.insert(arguments.begin(), PIPELINE_PROGRAM);
  return run(std::move(arguments), how);
}

/// One member of a gzip file.
inline std::string gzipped(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("no memory");
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  std::string in(bytes);
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("cannot compress");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline std::string file_contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The bytes of what files are to hold, by path; and what the manifest says of them, from zlib's own one-shot
/// checksum over bytes that were never compressed.
class expected_manifest {
  std::map<std::string, std::string> lines_;

public:
  void add(const std::string& path, std::size_t size, std::string_view inflated) {
    const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(inflated.data()), inflated.size());
    char head[64];
    std::snprintf(head, sizeof head, "%08lx %zu %zu ", sum, size, inflated.size());
    lines_[path] = head;
  }
  std::string text() const {
    std::string all;
    for (const auto& [path, head] : lines_) {
      all += head;
      for (const char c : path) all += c == '\\' ? "\\\\" : c == '\n' ? "\\n" : std::string(1, c);
      all += '\n';
    }
    return all;
  }
};

} // namespace rubato_test
