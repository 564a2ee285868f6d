// Signals as events: a handler that notes them and raises an eventfd.
#pragma once

namespace rubato::os {

constexpr int most_signals = 64;

/// The eventfd that each caught signal raises; -1: none.
void raise_at_signals(int event_fd) noexcept;
/// From now on the signal is noted, and raises the eventfd. Throws std::system_error: there is no such
/// signal, or it cannot be caught; std::invalid_argument: a fault raises it (SIGSEGV, SIGBUS, SIGFPE,
/// SIGILL).
void catch_signal(int signal);
/// Gives the signal back the action that it had before catch_signal().
void release_signal(int signal) noexcept;
/// Whether the signal has come since the last call.
[[nodiscard]] bool take_signal(int signal) noexcept;

} // namespace rubato::os
