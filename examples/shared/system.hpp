// The system calls of the examples: directories, files, and limits.
//
// Not std::filesystem: a tree may be nested deeper than the longest path that the kernel takes, a file may
// have become a FIFO since its directory was read, and links must not be followed, all of which needs openat
// and its flags.
#pragma once

#include <dirent.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace example {

/// An open file; closed with its last owner gone.
class descriptor {
  int number_ = -1;

public:
  explicit descriptor(int number) noexcept
      : number_(number) {}
  descriptor(descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~descriptor();
  int number() const noexcept { return number_; }
};

enum class file_kind { regular, directory, symlink, special };

struct file_status {
  file_kind kind;
  std::uint64_t size; ///< of a regular file when it was looked at; some (in /proc) say 0 and are not empty
};

/// The kind of a directory's entry.
struct listing {
  std::vector<std::string> files;
  std::vector<std::string> directories;
  std::uint64_t symlinks = 0;
  std::uint64_t special = 0;
  std::error_code error; ///< why the listing ends early
};

enum class links { follow, refuse };

/// An open directory. All functions throw std::system_error.
class directory {
  struct close {
    void operator()(DIR* stream) const noexcept { ::closedir(stream); }
  };
  std::unique_ptr<DIR, close> stream_;

public:
  /// A path of any length. `refuse` fails if its last part is a link.
  directory(const std::string& path, links mode);
  listing list();
  /// Opens one of the listed files. Never follows a link, never waits for the other end of a FIFO.
  descriptor open(const std::string& name) const;
};

/// The kind of file at the path; follows links.
file_status status_of(const std::string& path);
file_status status_of(const descriptor& file);
/// Opens for reading; follows links.
descriptor open_file(const std::string& path);

/// Both return 0 at the end of the file.
std::size_t read_next(const descriptor& file, std::span<char> buffer);
std::size_t read_at(const descriptor& file, std::span<char> buffer, std::uint64_t offset);

/// Creates a new file for writing.
descriptor create_file(const std::string& path);
/// Opens an existing file for writing.
descriptor open_for_writing(const std::string& path);
void write_all(const descriptor& file, std::string_view bytes);

bool is_terminal(std::FILE* stream);
long process_id();
/// Many workers hold many files open: asks for as many as the system allows.
void raise_open_file_limit();

} // namespace example
