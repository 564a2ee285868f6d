// Waiting until a descriptor of another library is ready.
//
//   #include <rubato/readiness.hpp>
//   #include <rubato/spawn.hpp>
//
//   #include <cstdio>
//   #include <unistd.h>
//
//   int main() {
//     int ends[2];
//     char c = '?';
//     bool const there = pipe(ends) == 0 && write(ends[1], "x", 1) == 1;
//     std::errc const e = rubato::block_on(rubato::readable(ends[0]));
//     if (there && e == std::errc() && read(ends[0], &c, 1) == 1) std::printf("%c\n", c); // -> x
//     rubato::forget(ends[0]); // before it is closed
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/task.hpp"
#include "rubato/time.hpp"

#include <system_error>

namespace rubato {

/// co_await readable(fd): waits until a read would not block, or until the deadline: a point in time, or a
/// duration from the call on. fd is any descriptor that the kernel can poll: a socket or pipe of another
/// library, eventfd, pidfd, inotify, a terminal. The wait is level-triggered: if unread data is left, the
/// next wait returns at once.
///
/// Yields
///   - errc{}: a read would not block: there is data, the end, or an error;
///   - `timed_out`: the deadline has passed;
///   - `operation_canceled`: the task was stopped, its pool ends, or forget() was called;
///   - `device_or_resource_busy`: another task waits for the same direction of fd;
///   - `operation_not_permitted`: the kernel cannot poll fd, as with regular files, which are always ready;
///   - `bad_file_descriptor`: fd is not open.
///
/// One task at a time may wait for each direction of a descriptor. Thread-safe. pool::wait_idle() waits for
/// such waits. Source: epoll(7), with EPOLLONESHOT.
[[nodiscard]] RUBATO_API task<std::errc> readable(int fd, detail::deadline deadline = never);
/// co_await writable(fd): as readable(), for a write.
[[nodiscard]] RUBATO_API task<std::errc> writable(int fd, detail::deadline deadline = never);

/// Ends the waits for a descriptor, and does not close it. Call forget() before you close the descriptor,
/// because the kernel reuses its number. Thread-safe.
RUBATO_API void forget(int fd) noexcept;

/// co_await exited(pidfd): waits until a child process has ended, and reaps it. Yields its exit code, or 128
/// plus the number of the signal that ended it, as a shell does. `pidfd` is from pidfd_open(2) or clone(2);
/// the caller closes it. Throws cancelled if the task is stopped or its pool ends, and std::system_error if
/// `pidfd` is no such descriptor. If an exited() that is passed to when_any() or when_first() loses, it has
/// not reaped the child. Source: waitid(2) with P_PIDFD.
[[nodiscard]] RUBATO_API task<int> exited(int pidfd);

} // namespace rubato
