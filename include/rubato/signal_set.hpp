// Awaits signals in coroutines, in place of signal handlers.
//
//   #include <rubato/signal_set.hpp>
//   #include <rubato/spawn.hpp>
//
//   #include <csignal>
//   #include <cstdio>
//
//   rubato::task<int> next_of(rubato::signal_set& signals) { co_return co_await signals.next(); }
//
//   int main() {
//     rubato::signal_set signals(SIGINT, SIGTERM); // from now on they do not end the program
//     std::raise(SIGTERM);
//     std::printf("%d\n", rubato::block_on(next_of(signals)) == SIGTERM); // -> 1
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/task.hpp"

#include <array>
#include <concepts>
#include <memory>
#include <span>

namespace rubato {

namespace detail {
class signal_subscription;
}

/// Receives some of the process's signals, in place of their default action, while it lives. Their names,
/// such as SIGINT, are in `<csignal>`. If several sets name a signal, each set receives it. A signal that
/// arrives several times before next() is received once, as the system does with pending signals. A signal
/// that every thread of the process blocks is not received. When the last set of a signal is destroyed, the
/// signal has its earlier action again.
///
/// Thread-safe, except for moves. One task at a time may await next(), and the set must outlive that wait.
/// After fork() the child receives signals only by sets that it makes itself; until then they have their
/// earlier actions there. Source: sigaction(2) and
/// eventfd(2).
class RUBATO_API signal_set {
  std::unique_ptr<detail::signal_subscription> state_;
  explicit signal_set(std::span<int const> signals);

public:
  /// Throws std::system_error if there is no such signal, or if it cannot be caught, like SIGKILL. Throws
  /// std::invalid_argument for SIGSEGV, SIGBUS, SIGFPE and SIGILL: to go on after a fault would repeat it.
  template<std::same_as<int>... More>
  explicit signal_set(int first, More... more)
      : signal_set(std::span<int const>(std::array{first, more...})) {}
  signal_set(signal_set&&) noexcept;
  /// Drops the old set as the destructor does.
  signal_set& operator=(signal_set&&) noexcept;
  ~signal_set();

  /// co_await next(): yields the number of the next signal. Throws cancelled if the task is stopped or its
  /// pool ends. If a next() that is passed to when_any() or when_first() loses, it has taken no signal.
  [[nodiscard]] task<int> next();
};

} // namespace rubato
