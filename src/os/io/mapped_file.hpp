// A file that is written through memory, and so outlives the process.
#pragma once

#include <cstddef>
#include <string>

namespace rubato::os {

/// Grows in parts that exist on the disk before they are mapped. Not inherited by an exec.
class mapped_file {
  int fd_ = -1;

public:
  mapped_file() noexcept = default;
  mapped_file(mapped_file const&) = delete;
  mapped_file& operator=(mapped_file const&) = delete;
  ~mapped_file() { close(); }

  /// Opens or makes it, empty, and locks it for as long as it is open. Returns zero, or the error;
  /// EWOULDBLOCK: another process has locked it.
  [[nodiscard]] int create(char const* path) noexcept;
  /// Makes one that has no place on a disk. Returns zero, or the error.
  [[nodiscard]] int create_in_memory() noexcept;
  void close() noexcept;
  [[nodiscard]] bool is_open() const noexcept { return fd_ >= 0; }

  /// Makes room on the disk from `offset` on, zeroed. Returns zero, or the error; EFBIG: the process may not
  /// write so large a file. No signal.
  [[nodiscard]] int allocate(std::size_t offset, std::size_t bytes) noexcept;
  /// Maps a part that allocate() has made in place of what is mapped at `address`, which reserve() has
  /// returned. A child of a fork() does not inherit it. Each page is ready to be written. False, and nothing
  /// changed: the system has refused.
  [[nodiscard]] bool map_at(void* address, std::size_t offset, std::size_t bytes) noexcept;
  /// A path by which this process opens the file, even if that has been removed.
  [[nodiscard]] std::string own_path() const;
};

/// Puts memory of zeros in place of a part of a file that was mapped there.
void unmap_to_memory(void* address, std::size_t bytes) noexcept;

/// Writes all of a file, in place of what it was. Returns zero, or the error.
[[nodiscard]] int write_file(char const* path, char const* text, std::size_t bytes) noexcept;
/// As much of the file as there is from `offset` on. Returns the number of bytes; -1: an error, as errno.
[[nodiscard]] long read_at(char const* path, std::size_t offset, char* into, std::size_t bytes) noexcept;

/// Writes "rubato: MESSAGE\n" to the standard error output.
void tell(std::string const& message) noexcept;

/// The number of this process, and whether there is one of that number.
[[nodiscard]] int process_id() noexcept;
[[nodiscard]] bool process_lives(int id) noexcept;

/// A variable of the environment; null: it is not set.
[[nodiscard]] char const* environment(char const* name) noexcept;

} // namespace rubato::os
