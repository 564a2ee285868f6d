#include "os/futex.hpp"

#include "os/die.hpp"
#include "os/sanitizers.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace rubato::os {

namespace {

static_assert(sizeof(futex_word) == sizeof(std::uint32_t) && futex_word::is_always_lock_free);
// The plain system call takes the kernel's own timespec, which is that of the C library on 64-bit systems
// only.
static_assert(sizeof(long) == 8 && sizeof(timespec) == 16);

/// The bitset operation takes an absolute time on CLOCK_MONOTONIC, so a retry does not stretch the sleep.
bool sleep(futex_word const& word, std::uint32_t expected, timespec const* deadline) noexcept {
  if (::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline, nullptr,
                FUTEX_BITSET_MATCH_ANY) == 0)
    return true;
  switch (errno) {
  case EINTR:
#if defined(RUBATO_UNDER_TSAN)
    ::usleep(0); // ThreadSanitizer runs a signal's handler at the next call that it intercepts
    [[fallthrough]];
#endif
  case EAGAIN:
    return true;
  case ETIMEDOUT:
    return false;
  default: // a loop around it would spin for ever, without a word
    die("the kernel refuses to let a thread sleep (futex)");
  }
}

} // namespace

void wait(futex_word const& word, std::uint32_t expected) noexcept { sleep(word, expected, nullptr); }

bool wait_until(futex_word const& word, std::uint32_t expected,
                std::chrono::steady_clock::time_point deadline) noexcept {
  using namespace std::chrono;
  // steady_clock is CLOCK_MONOTONIC in both standard libraries; the kernel takes no time before its zero.
  auto const since_zero =
      std::max(duration_cast<nanoseconds>(deadline.time_since_epoch()), nanoseconds::zero());
  auto const whole = duration_cast<seconds>(since_zero);
  timespec const t{.tv_sec = whole.count(), .tv_nsec = (since_zero - whole).count()};
  return sleep(word, expected, &t);
}

unsigned wake(futex_word const& word, unsigned number) noexcept {
  if (number == 0) return 0; // the kernel would wake one
  // It fails only on an address that was never the process's own: then no thread sleeps there.
  auto const most = static_cast<int>(std::min<unsigned>(number, INT_MAX));
  long const woken = ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, most);
  return woken > 0 ? static_cast<unsigned>(woken) : 0;
}

} // namespace rubato::os
