// A directory to fill, gone at the end of the test.
#pragma once

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

namespace rubato_test {

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
  /// Files `file` with the content "deep", each in a directory below the one before: no path leads to the
  /// last.
  void write_deep(int files) const {
    // Made a step at a time, for the system takes no such path.
    const std::string name(50, 'd');
    int at = ::open(path().c_str(), O_PATH | O_DIRECTORY);
    for (int depth = 0; depth < files; ++depth) {
      if (::mkdirat(at, name.c_str(), 0755) != 0) throw std::runtime_error("cannot make a directory");
      const int next = ::openat(at, name.c_str(), O_PATH | O_DIRECTORY);
      ::close(at);
      at = next;
      const int file = ::openat(at, "file", O_CREAT | O_WRONLY, 0644);
      if (::write(file, "deep", 4) != 4) throw std::runtime_error("cannot write a file");
      ::close(file);
    }
    ::close(at);
  }
  /// Takes the rights to the files of that directory.
  void forbid_files_in(const std::filesystem::path& below) const {
    for (const auto& file : std::filesystem::directory_iterator(root_ / below))
      std::filesystem::permissions(file, std::filesystem::perms::none);
  }
};

/// Lets a path turn, again and again, into a file with the content "turns", a FIFO that no process ever
/// writes to, and a link.
class turning_path {
  temporary_tree aside_;
  std::jthread turns_;

public:
  explicit turning_path(const std::string& path) {
    aside_.write("file", "turns");
    if (::mkfifo(aside_.path("fifo").c_str(), 0600) != 0) throw std::runtime_error("cannot make a FIFO");
    std::filesystem::create_symlink("/etc", aside_.path("link"));
    turns_ = std::jthread([this, path](const std::stop_token& over) {
      const char* const kind[] = {"file", "fifo", "file", "link"};
      const std::string next = aside_.path("next");
      for (unsigned i = 0; !over.stop_requested(); ++i) {
        EXPECT_EQ(::link(aside_.path(kind[i % 4]).c_str(), next.c_str()), 0);
        EXPECT_EQ(::rename(next.c_str(), path.c_str()), 0);
      }
    });
  }
};

} // namespace rubato_test
