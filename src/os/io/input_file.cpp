#include "os/io/input_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace rubato::os {

int input_file::open(char const* path) noexcept {
  close();
  do fd_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); // never waits, whatever it is
  while (fd_ < 0 && errno == EINTR);
  return fd_ < 0 ? errno : 0;
}

void input_file::close() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

long input_file::read_at(std::size_t offset, char* into, std::size_t bytes) const noexcept {
  std::size_t done = 0;
  while (done != bytes) {
    ssize_t const n = ::pread(fd_, into + done, bytes - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return static_cast<long>(done);
}

} // namespace rubato::os
