#include "os/io/file.hpp"

#include <array>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

namespace rubato::os {

namespace {

class descriptor {
  int const fd_;

  static int open(char const* path) noexcept {
    int fd;
    do fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe without a writer must not block
    while (fd < 0 && errno == EINTR);
    return fd;
  }

public:
  explicit descriptor(char const* path) noexcept
      : fd_(open(path)) {}
  descriptor(descriptor const&) = delete;
  ~descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  /// The result of read(): -1 is an error, 0 the end.
  ssize_t read(std::span<char> buffer) const noexcept {
    ssize_t n;
    do n = ::read(fd_, buffer.data(), buffer.size());
    while (n < 0 && errno == EINTR);
    return n;
  }
};

} // namespace

std::string_view read_start(char const* path, std::span<char> buffer) noexcept {
  descriptor const file(path);
  auto const n = file.read(buffer);
  return {buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
}

std::optional<std::string> read_file(std::string const& path) {
  descriptor const file(path.c_str());
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    auto const n = file.read(buffer);
    if (n < 0) return {};
    if (n == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

std::vector<std::string> names_in(std::string const& directory) {
  struct closing {
    void operator()(::DIR* d) const noexcept { ::closedir(d); }
  };
  std::unique_ptr<::DIR, closing> const open(::opendir(directory.c_str()));
  std::vector<std::string> names;
  if (open == nullptr) return names;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of its own
  while (::dirent const* const one = ::readdir(open.get())) names.emplace_back(one->d_name);
  return names;
}

} // namespace rubato::os
