#include "os/io/mapped_file.hpp"

#include "os/die.hpp"
#include "os/io/input_file.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace rubato::os {

namespace {

int open_file(char const* path, int flags) noexcept {
  constexpr int for_all = 0644;
  int fd;
  do fd = ::open(path, flags | O_CLOEXEC, for_all);
  while (fd < 0 && errno == EINTR);
  return fd;
}

/// A write beyond the limit would be a signal.
bool exceeds_limit(std::size_t bytes) noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

} // namespace

int mapped_file::create(char const* path) noexcept {
  close();
  fd_ = open_file(path, O_RDWR | O_CREAT);
  if (fd_ < 0) return errno;
  int error = 0;
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 || ::ftruncate(fd_, 0) != 0) error = errno;
  if (error != 0) close();
  return error;
}

int mapped_file::create_in_memory() noexcept {
  close();
  fd_ = ::memfd_create("rubato.rings", MFD_CLOEXEC);
  return fd_ < 0 ? errno : 0;
}

void mapped_file::close() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

int mapped_file::allocate(std::size_t offset, std::size_t bytes) noexcept {
  if (exceeds_limit(offset + bytes)) return EFBIG;
  int error;
  do error = ::posix_fallocate(fd_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (error == EINTR);
  return error;
}

bool mapped_file::map_at(void* address, std::size_t offset, std::size_t bytes) noexcept {
  void* const mapped =
      ::mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return false;
  ::madvise(address, bytes, MADV_DONTFORK);
  // The first write to a page is a fault, which would cost every event on it.
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (std::size_t at = 0; at < bytes; at += page) static_cast<char volatile*>(address)[at] = 0;
  return true;
}

std::string mapped_file::own_path() const { return "/proc/self/fd/" + std::to_string(fd_); }

void unmap_to_memory(void* address, std::size_t bytes) noexcept {
  // Not mmap(), which ThreadSanitizer takes for a write: another thread may be writing there, which is no
  // race.
  if (::syscall(SYS_mmap, address, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0L) == -1)
    die("no room in the kernel's tables to end a trace");
}

int write_file(char const* path, char const* text, std::size_t bytes) noexcept {
  if (exceeds_limit(bytes)) return EFBIG;
  int const fd = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  if (fd < 0) return errno;
  int error = 0;
  while (bytes != 0 && error == 0) {
    ssize_t const n = ::write(fd, text, bytes);
    if (n < 0) {
      if (errno != EINTR) error = errno;
      continue;
    }
    text += n;
    bytes -= static_cast<std::size_t>(n);
  }
  if (::close(fd) != 0 && error == 0 && errno != EINTR) error = errno;
  return error;
}

long read_at(char const* path, std::size_t offset, char* into, std::size_t bytes) noexcept {
  input_file file;
  int error = file.open(path);
  long const n = error == 0 ? file.read_at(offset, into, bytes) : -1;
  if (n < 0 && error == 0) error = errno; // before the file is closed
  file.close();
  if (n < 0) errno = error;
  return n;
}

void tell(std::string const& message) noexcept {
  auto const piece = [](char const* text, std::size_t n) {
    return iovec{const_cast<char*>(text), n}; // writev() only reads
  };
  std::array const pieces{piece("rubato: ", 8), piece(message.data(), message.size()), piece("\n", 1)};
  while (::writev(STDERR_FILENO, pieces.data(), static_cast<int>(pieces.size())) < 0 && errno == EINTR) {
  }
}

int process_id() noexcept { return ::getpid(); }
bool process_lives(int id) noexcept { return id > 0 && (::kill(id, 0) == 0 || errno == EPERM); }

char const* environment(char const* name) noexcept {
  return std::getenv(name); // NOLINT(concurrency-mt-unsafe): read at the start of a pool
}

} // namespace rubato::os
