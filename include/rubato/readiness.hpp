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

#include <chrono>
#include <system_error>

namespace rubato {

/// co_await readable(fd): waits until a read would not wait, or until the deadline. Any descriptor that the
/// kernel can poll: sockets and pipes of other libraries, eventfd, pidfd, inotify, terminals. Ready is a
/// level: what is left unread makes the next wait return at once. The kernel is asked anew for each wait.
///
/// Yields errc{}: it is ready, at its end, or has failed, as the operation will tell; `timed_out`;
/// `operation_canceled`: the task was stopped, its pool ends, or forget() was called;
/// `device_or_resource_busy`: another task waits to read from it; `operation_not_permitted`: the kernel
/// cannot poll it, as with a regular file, which is always ready; `bad_file_descriptor`.
///
/// One task may wait for each direction of a descriptor. Thread-safe. The wait counts as armed for
/// wait_idle(). Source: epoll(7), with EPOLLONESHOT.
[[nodiscard]] task<std::errc> readable(int fd, std::chrono::steady_clock::time_point deadline = never);
/// The same until a write would not wait.
[[nodiscard]] task<std::errc> writable(int fd, std::chrono::steady_clock::time_point deadline = never);

/// Ends the waits for a descriptor. Call it before the descriptor is closed: its number may soon be that of
/// another. It does not close it. Thread-safe.
void forget(int fd) noexcept;

/// co_await exited(pidfd): waits until a child process has ended, and reaps it. Yields its exit code, or 128
/// and the signal that ended it, as a shell does. `pidfd` is from pidfd_open(2) or clone(2), and stays the
/// caller's to close. Throws cancelled if the task is stopped; std::system_error if it is no such descriptor.
/// If it is passed to when_any() and loses, it has not reaped the child.
[[nodiscard]] task<int> exited(int pidfd);

} // namespace rubato
