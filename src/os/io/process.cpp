#include "os/io/process.hpp"

#include "os/io/file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <pthread.h>
#include <sys/wait.h>
#include <system_error>

namespace rubato::os {

std::optional<int> try_reap(int pidfd) {
  constexpr int pidfds = 3; // P_PIDFD, which older headers lack
  ::siginfo_t info{};
  for (;;) {
    if (::waitid(static_cast<idtype_t>(pidfds), static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) == 0)
      break;
    if (errno == EAGAIN) return {};
    if (errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "rubato: exited() wants the pidfd of a child");
  }
  if (info.si_pid == 0) return {};
  return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

cpu_counts cpu_counts_of(int process, int thread) noexcept {
  std::array<char, 64> path;
  std::snprintf(path.data(), path.size(), "/proc/%d/task/%d/schedstat", process, thread);
  std::array<char, 96> buffer;
  auto text = read_start(path.data(), buffer); // ns on a CPU, ns ready without one, times
  auto const next = [&text] {
    std::size_t const end = std::min(text.find(' '), text.size());
    auto const ns = parse_number<std::int64_t>(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return std::chrono::nanoseconds(ns.value_or(0));
  };
  auto const ran = next();
  return {.ran = ran, .ready = next()};
}

void register_fork_handlers(void (*prepare)(), void (*parent)(), void (*child)()) {
  if (int const error = ::pthread_atfork(prepare, parent, child); error != 0)
    throw std::system_error(error, std::generic_category(), "pthread_atfork");
}

} // namespace rubato::os
