// A directory to fill, gone at the end of the test.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace example_test {

class temporary_tree {
  std::filesystem::path root_;

public:
  temporary_tree() {
    std::string name = std::filesystem::temp_directory_path() / "identifiers-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a directory");
    root_ = name;
    ::chmod(name.c_str(), 0755); // a user without rights reads it, too
  }
  temporary_tree(const temporary_tree&) = delete;
  temporary_tree& operator=(const temporary_tree&) = delete;
  ~temporary_tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }

  std::string path(const std::filesystem::path& below = {}) const {
    return below.empty() ? root_ : root_ / below;
  }
  operator std::string() const { return root_; }

  /// Makes the directories above, too.
  void write(const std::filesystem::path& below, std::string_view content) const {
    std::filesystem::create_directories((root_ / below).parent_path());
    std::ofstream file(root_ / below, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!file.flush()) throw std::runtime_error("cannot write " + path(below));
  }
};

} // namespace example_test
