#include "os/io/signals.hpp"

#include "os/io/epoll.hpp"
#include "os/sanitizers.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <string>
#include <system_error>

namespace rubato::os {

namespace {

// Read and written by the handler: lock-free.
constinit std::array<std::atomic<bool>, most_signals + 1> came{};
constinit std::atomic<int> raised{-1};
constinit std::array<struct sigaction, most_signals + 1> before{}; // guarded by the caller's lock
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void handle(int signal) {
  int const saved = errno;
  // release: pairs with take_signal(), because what the sender did comes before.
  came[static_cast<std::size_t>(signal)].store(true, std::memory_order_release);
  int const fd = raised.load(std::memory_order_relaxed); // relaxed: set before the handler was installed
  if (fd >= 0) raise_event_fd(fd);
  errno = saved;
}

} // namespace

void raise_at_signals(int event_fd) noexcept { raised.store(event_fd, std::memory_order_relaxed); }

void catch_signal(int signal) {
  if (signal <= 0 || signal > most_signals)
    throw std::system_error(EINVAL, std::generic_category(),
                            "rubato: signal_set: there is no signal " + std::to_string(signal));
  // A handler that returns would repeat the fault, for ever.
  if (signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL)
    throw std::invalid_argument("rubato: signal_set: signal " + std::to_string(signal) +
                                " tells of a fault of the program, which cannot be awaited");
  struct sigaction action{};
  action.sa_handler = &handle;
#if defined(RUBATO_UNDER_TSAN)
  action.sa_flags = 0; // so that os::wait() returns, and lets ThreadSanitizer run the handler
#else
  action.sa_flags = SA_RESTART;
#endif
  ::sigfillset(&action.sa_mask);
  if (::sigaction(signal, &action, &before[static_cast<std::size_t>(signal)]) != 0)
    throw std::system_error(errno, std::generic_category(),
                            "rubato: signal_set: the signal cannot be caught");
}

void release_signal(int signal) noexcept {
  ::sigaction(signal, &before[static_cast<std::size_t>(signal)], nullptr);
}

bool take_signal(int signal) noexcept {
  return came[static_cast<std::size_t>(signal)].exchange(false, std::memory_order_acquire); // see handle()
}

} // namespace rubato::os
