#include "system.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

namespace example {
namespace {

[[noreturn]] void fail() { throw std::system_error(errno, std::generic_category()); }

/// Repeats a call that a signal interrupted; throws if it fails.
template<class Call>
auto checked(Call call) {
  while (true) {
    const auto result = call();
    if (result >= 0) return result;
    if (errno != EINTR) fail();
  }
}

/// The kernel takes no path of PATH_MAX bytes: a longer one is walked in steps.
descriptor open_path(std::string_view path, int flags) {
  descriptor from(AT_FDCWD);
  while (path.size() >= PATH_MAX) {
    const auto cut = path.rfind('/', PATH_MAX - 1);
    if (cut == std::string_view::npos || cut == 0) break; // no name is that long: the open below says so
    const std::string step(path.substr(0, cut));
    from = descriptor(
        checked([&] { return ::openat(from.number(), step.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); }));
    const auto next = path.find_first_not_of('/', cut);
    path = next == std::string_view::npos ? "." : path.substr(next);
  }
  const std::string last(path);
  return descriptor(
      checked([&] { return ::openat(from.number(), last.c_str(), flags | O_CLOEXEC | O_NOCTTY); }));
}

file_kind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return file_kind::regular;
  if (S_ISDIR(mode)) return file_kind::directory;
  if (S_ISLNK(mode)) return file_kind::symlink;
  return file_kind::special;
}

file_status status_from(const struct stat& found) {
  return {kind_of(found.st_mode), static_cast<std::uint64_t>(found.st_size)};
}

file_kind kind_of(DIR* stream, const dirent& entry) {
  switch (entry.d_type) {
  case DT_REG:
    return file_kind::regular;
  case DT_DIR:
    return file_kind::directory;
  case DT_LNK:
    return file_kind::symlink;
  case DT_UNKNOWN: { // some file systems do not tell
    struct stat found;
    if (::fstatat(::dirfd(stream), entry.d_name, &found, AT_SYMLINK_NOFOLLOW) == 0)
      return kind_of(found.st_mode);
    return file_kind::regular; // gone already: opening it will say so
  }
  default:
    return file_kind::special;
  }
}

} // namespace

descriptor::~descriptor() {
  if (number_ >= 0) ::close(number_);
}

directory::directory(const std::string& path, links mode) {
  descriptor opened = open_path(path, O_RDONLY | O_DIRECTORY | (mode == links::refuse ? O_NOFOLLOW : 0));
  // The stream closes its descriptor itself, so it gets one of its own.
  const int own = checked([&] { return ::fcntl(opened.number(), F_DUPFD_CLOEXEC, 0); });
  stream_.reset(::fdopendir(own));
  if (stream_) return;
  const int reason = errno;
  ::close(own);
  errno = reason;
  fail();
}

listing directory::list() {
  listing found;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream_.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    switch (kind_of(stream_.get(), *entry)) {
    case file_kind::regular:
      found.files.emplace_back(name);
      break;
    case file_kind::directory:
      found.directories.emplace_back(name);
      break;
    case file_kind::symlink:
      ++found.symlinks;
      break;
    case file_kind::special:
      ++found.special;
      break;
    }
  }
  found.error.assign(errno, std::generic_category());
  return found;
}

descriptor directory::open(const std::string& name) const {
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  return descriptor(checked([&] { return ::openat(::dirfd(stream_.get()), name.c_str(), flags); }));
}

file_status status_of(const std::string& path) {
  // Through O_PATH, not stat(): it takes a path of any length and opens no device.
  return status_of(open_path(path, O_PATH));
}

file_status status_of(const descriptor& file) {
  struct stat found;
  checked([&] { return ::fstat(file.number(), &found); });
  return status_from(found);
}

descriptor open_file(const std::string& path) { return open_path(path, O_RDONLY); }

std::size_t read_next(const descriptor& file, std::span<char> buffer) {
  return static_cast<std::size_t>(
      checked([&] { return ::read(file.number(), buffer.data(), buffer.size()); }));
}

std::size_t read_at(const descriptor& file, std::span<char> buffer, std::uint64_t offset) {
  return static_cast<std::size_t>(checked(
      [&] { return ::pread(file.number(), buffer.data(), buffer.size(), static_cast<off_t>(offset)); }));
}

descriptor create_file(const std::string& path) {
  constexpr mode_t all_that_umask_permits = 0666;
  return descriptor(checked(
      [&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, all_that_umask_permits); }));
}

descriptor open_for_writing(const std::string& path) { return open_path(path, O_WRONLY); }

void write_all(const descriptor& file, std::string_view bytes) {
  while (!bytes.empty())
    bytes.remove_prefix(static_cast<std::size_t>(
        checked([&] { return ::write(file.number(), bytes.data(), bytes.size()); })));
}

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) == 1; }

long process_id() { return ::getpid(); }

void raise_open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE,
              &limit); // if it fails the old limit serves, and a file too many is reported as unreadable
}

} // namespace example
