#include "os/io/epoll.hpp"

#include "os/die.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <system_error>
#include <unistd.h>

namespace rubato::os {

void epoll::open() {
  fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (fd_ < 0)
    throw std::system_error(errno, std::generic_category(), "rubato: the kernel makes no epoll descriptor");
}

void epoll::close() noexcept {
  close_fd(fd_);
  fd_ = -1;
}

namespace {

int control(int set, int operation, int fd, std::uint32_t events, std::uint64_t data) noexcept {
  ::epoll_event e{};
  e.events = events;
  e.data.u64 = data;
  return ::epoll_ctl(set, operation, fd, &e) == 0 ? 0 : errno;
}

} // namespace

int epoll::add(int fd, std::uint32_t events, std::uint64_t data) noexcept {
  return control(fd_, EPOLL_CTL_ADD, fd, events, data);
}
int epoll::modify(int fd, std::uint32_t events, std::uint64_t data) noexcept {
  return control(fd_, EPOLL_CTL_MOD, fd, events, data);
}
int epoll::remove(int fd) noexcept { return control(fd_, EPOLL_CTL_DEL, fd, 0, 0); }

namespace {

std::size_t take_events(int set, std::span<epoll::event> events, int timeout) noexcept {
  for (;;) {
    int const n = ::epoll_wait(set, events.data(), static_cast<int>(events.size()), timeout);
    if (n >= 0) return static_cast<std::size_t>(n);
    if (errno != EINTR) die("the kernel refuses to tell of events (epoll_wait)");
  }
}

} // namespace

std::size_t epoll::wait(std::span<event> events) noexcept { return take_events(fd_, events, -1); }
std::size_t epoll::poll(std::span<event> events) noexcept { return take_events(fd_, events, 0); }

bool is_ready_now(int fd, bool to_read) noexcept {
  short const events = to_read ? POLLIN | POLLRDHUP : POLLOUT;
  ::pollfd one{.fd = fd, .events = events, .revents = 0};
  int n = 0;
  do n = ::poll(&one, 1, 0);
  while (n < 0 && errno == EINTR);
  if (n <= 0 || (one.revents & POLLNVAL) != 0) return false;
  struct stat what{};
  return ::fstat(fd, &what) == 0 && !S_ISREG(what.st_mode) && !S_ISDIR(what.st_mode) &&
         !S_ISBLK(what.st_mode);
}

int make_event_fd() {
  int const fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "rubato: the kernel makes no eventfd");
  return fd;
}
void raise_event_fd(int fd) noexcept {
  std::uint64_t const one = 1;
  // EAGAIN: the counter is at its maximum, so the event is up already.
  while (::write(fd, &one, sizeof one) < 0 && errno == EINTR) {
  }
}
void lower_event_fd(int fd) noexcept {
  std::uint64_t number = 0;
  while (::read(fd, &number, sizeof number) < 0 && errno == EINTR) {
  }
}

int make_timer_fd() {
  int const fd = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "rubato: the kernel makes no timerfd");
  return fd;
}
void set_timer_fd(int fd, std::chrono::steady_clock::time_point due) noexcept {
  using namespace std::chrono;
  nanoseconds const at = std::max<nanoseconds>(due.time_since_epoch(), nanoseconds(1)); // 0 would be never
  seconds const whole = duration_cast<seconds>(at);
  ::itimerspec const wanted{.it_interval = {},
                            .it_value = {.tv_sec = whole.count(), .tv_nsec = (at - whole).count()}};
  if (::timerfd_settime(fd, TFD_TIMER_ABSTIME, &wanted, nullptr) != 0)
    die("the kernel refuses to set a timer (timerfd_settime)");
}

namespace {
std::atomic<int> poke_fd{-1};
}

// relaxed, both: a thread sleeps in the set only after it has found the reactor, which is set afterwards.
void set_poke(int event_fd) noexcept { poke_fd.store(event_fd, std::memory_order_relaxed); }
void poke() noexcept { raise_event_fd(poke_fd.load(std::memory_order_relaxed)); }

void close_fd(int fd) noexcept {
  if (fd >= 0) ::close(fd); // on Linux it is closed even if this is interrupted
}

} // namespace rubato::os
