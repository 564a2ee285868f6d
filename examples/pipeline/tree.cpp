#include "tree.hpp"

#include "shared/path.hpp"

#include <algorithm>
#include <utility>

namespace pipeline {
namespace {

using namespace example;

// Few reads for a large file, and small enough for the heap to hand out again and again without the kernel.
constexpr std::size_t part_size = 64 * 1024;
constexpr std::size_t least_part_size = 4096; // a file in /proc says that it is empty, and is not

std::shared_ptr<directory> open_root(const std::string& path) {
  try {
    return std::make_shared<directory>(path, links::follow);
  } catch (const std::system_error& error) {
    throw std::system_error(error.code(), "cannot read " + path);
  }
}

} // namespace

tree_walk::tree_walk(std::string root)
    : root_(std::move(root))
    , first_(open_root(root_))
    , left_{""} {}

std::optional<std::vector<found_file>> tree_walk::next() {
  if (left_.empty()) return std::nullopt;
  const std::string path = std::move(left_.back());
  left_.pop_back();

  std::vector<found_file> files;
  try {
    auto opened =
        first_ ? std::move(first_) : std::make_shared<directory>(join_path(root_, path), links::refuse);
    const listing found = opened->list();
    ++met_.directories;
    met_.symlinks += found.symlinks;
    met_.special += found.special;
    for (const auto& name : found.directories) left_.push_back(join_path(path, name));
    files.reserve(found.files.size());
    for (const auto& name : found.files) files.push_back({opened, join_path(path, name)});
    if (found.error) met_.problems.push_back({path, found.error.message()});
  } catch (const std::system_error& error) {
    met_.problems.push_back({path, error.code().message()});
  }
  return files;
}

source::source(const found_file& file) {
  try {
    file_ = file.parent->open(file.path.substr(file.path.rfind('/') + 1));
    const file_status status = status_of(*file_);
    expected_ = status.size;
    // It was a file when the directory was listed. It may be a device now, which has no end.
    if (status.kind != file_kind::regular)
      error_ = std::make_error_code(std::errc::no_such_file_or_directory);
  } catch (const std::system_error& error) {
    error_ = error.code();
  }
}

part source::next() {
  part read;
  read.error = error_;
  if (!error_) try {
      // A byte more than expected, so that the first part of a small file meets its end.
      const auto size = std::clamp<std::uint64_t>(expected_ + 1, least_part_size, part_size);
      expected_ = part_size;
      read.bytes = std::make_unique_for_overwrite<char[]>(size);
      while (read.size < size && !over_) {
        const std::size_t more = read_next(*file_, {read.bytes.get() + read.size, size - read.size});
        read.size += more;
        over_ = more == 0;
      }
    } catch (const std::system_error& error) {
      read.error = error.code();
    }
  if (read.error) over_ = true;
  return read;
}

} // namespace pipeline
