// A tree of small files, some compressed: read, inflated, summed up, sorted by path; the whole run. The code
// of examples/pipeline handles the files, the same for every contender.
//
// A contender is a class R, made with a number of workers, with r.take(root) -> pipeline::catalogue.
#pragma once

#include "../harness/main.hpp"
#include "../harness/work.hpp"

#include <pipeline/catalogue.hpp>

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace bench {

/// Files of 200 bytes to 64 KB, the logarithms of their sizes evenly spread, twenty to a directory; a third
/// of them compressed, and one in 500 a megabyte besides. The same bytes in every process; gone at the end.
class generated_tree {
  std::filesystem::path root_;

  /// In memory where there is a place for it: to make and to remove so many files on a disk takes far longer
  /// than to read them.
  static std::filesystem::path place() {
    const std::filesystem::path memory = "/dev/shm";
    return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
  }

  static std::string text(std::size_t size, std::uint64_t seed) {
    static constexpr const char* words[] = {"each ", "file ",   "holds ", "words ",    "in ",
                                            "some ", "order, ", "and ",   "numbers: ", "\n"};
    std::string made;
    for (std::uint64_t i = 0; made.size() < size; ++i) {
      const std::uint64_t chance = hash_rounds(seed + i, 2);
      made += words[chance % std::size(words)];
      if (chance % 5 == 0) made += std::to_string(chance >> 40);
    }
    made.resize(size);
    return made;
  }

  static void write(const std::filesystem::path& path, const std::string& bytes, bool compressed) {
    if (!compressed) {
      std::ofstream(path, std::ios::binary) << bytes;
      return;
    }
    const gzFile file = gzopen(path.c_str(), "wb");
    const bool written =
        file != nullptr && gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) != 0;
    if (gzclose(file) != Z_OK || !written) throw std::runtime_error("cannot write " + path.string());
  }

public:
  explicit generated_tree(std::uint64_t files) {
    std::string name = place() / "rubato-bench-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    root_ = name;
    for (std::uint64_t i = 0; i != files; ++i) {
      const auto folder = root_ / std::to_string(i % 7) / std::to_string(i / 20);
      std::filesystem::create_directories(folder);
      const double spread = static_cast<double>(hash_rounds(i, 3) % 1024) / 1024;
      const auto size =
          static_cast<std::size_t>(200 * std::pow(320, spread)) + (i % 500 == 250 ? 1'000'000 : 0);
      write(folder / std::to_string(i), text(size, i), i % 3 == 0);
    }
  }
  generated_tree(const generated_tree&) = delete;
  generated_tree& operator=(const generated_tree&) = delete;
  ~generated_tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  std::string root() const { return root_; }
};

/// Of what a manifest would say.
inline std::uint64_t checksum(const pipeline::catalogue& all) {
  std::uint64_t sum = all.problems.size();
  for (const auto& file : all.files) {
    sum = hash_rounds(sum ^ file.crc32 ^ file.size << 32 ^ file.inflated, 1);
    sum ^= crc32_z(0, reinterpret_cast<const unsigned char*>(file.path.data()), file.path.size());
  }
  return sum;
}

template<class R>
int drive_pipeline(int argc, char** argv) {
  return run_scenario<R>(
      argc, argv,
      [](R& r, std::string_view scenario, unsigned, std::uint64_t files) -> std::optional<measurement> {
        if (scenario != "pipeline") return std::nullopt;
        const generated_tree tree(files);
        static_cast<void>(r.take(tree.root())); // starts the threads; the files are in memory anyway
        return timed(1, [&] { return checksum(r.take(tree.root())); });
      });
}

} // namespace bench
