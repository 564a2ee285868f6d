#include "rubato/readiness.hpp"

#include "coro/own_race.hpp"
#include "io/descriptor.hpp"
#include "os/io/epoll.hpp"
#include "os/io/process.hpp"
#include "rubato/cancelled.hpp"

#include <optional>

namespace rubato {

namespace {

using detail::direction;

task<std::errc> ready(int fd, direction d, std::chrono::steady_clock::time_point deadline) {
  bool const reading = d == direction::reading;
  if (fd < 0) co_return std::errc::bad_file_descriptor;
  if (detail::is_stopped()) co_return std::errc::operation_canceled;
  detail::descriptor_slot* slot = nullptr;
  try {
    slot = &detail::slot_of(fd);
  } catch (std::system_error const& e) { // no descriptor's number, or there is no reactor
    co_return os::is_ready_now(fd, reading) ? std::errc() : static_cast<std::errc>(e.code().value());
  }
  // Whenever the task is suspended, another one may forget the descriptor, and the number be used anew.
  std::uint32_t generation = slot->generation();
  if (os::is_ready_now(fd, reading)) { // needs no other thread to say so
    bool const others_ran = co_await detail::ready_wait();
    if (!others_ran) co_return std::errc();
    if (detail::is_stopped() || slot->generation() != generation) co_return std::errc::operation_canceled;
  }
  // An event may be of an earlier wait, and be delivered when what it told of has been read: a caller that
  // reads then would block its thread. That cannot happen to a socket of the library, for which the kernel
  // may tell of what poll(2) is not asked about.
  while (!os::is_ready_now(fd, reading)) {
    detail::io_wait wait(*slot, fd, d, generation, deadline);
    std::errc const e = co_await wait;
    if (e != std::errc()) co_return e;
    generation = wait.generation();
    if (slot->tells_edges()) break;
  }
  co_return slot->generation() == generation ? std::errc() : std::errc::operation_canceled;
}

} // namespace

task<std::errc> readable(int fd, detail::deadline deadline) {
  return ready(fd, direction::reading, deadline.at);
}
task<std::errc> writable(int fd, detail::deadline deadline) {
  return ready(fd, direction::writing, deadline.at);
}

void forget(int fd) noexcept {
  if (detail::descriptor_slot* const slot = detail::find_slot(fd)) detail::end_waits(*slot, fd);
}

task<int> exited(int pidfd) {
  detail::race_entry const among = co_await detail::own_race();
  for (;;) {
    std::optional<int> status;
    bool const has_tried =
        detail::try_in_race(among, [&] { return (status = os::try_reap(pidfd)).has_value(); });
    if (!has_tried) throw cancelled();
    if (status) {
      co_await detail::ready_wait();
      co_return *status;
    }
    std::errc const e = co_await readable(pidfd);
    if (e == std::errc::operation_canceled) throw cancelled();
    if (e != std::errc()) throw std::system_error(std::make_error_code(e), "rubato: exited()");
  }
}

} // namespace rubato
