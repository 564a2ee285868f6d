#include "interrupts.hpp"

namespace pipeline {

interrupts::interrupts() {
  ::sigemptyset(&caught_);
  ::sigaddset(&caught_, SIGINT);
  ::sigaddset(&caught_, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &caught_, &before_);
  watcher_ = std::thread([this] { watch(); });
}

interrupts::~interrupts() {
  over_ = true;
  ::pthread_kill(watcher_.native_handle(), SIGTERM);
  watcher_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

/// A thread that waits for the signals: a signal handler may call almost no function.
void interrupts::watch() {
  for (;;) {
    int number = 0;
    ::sigwait(&caught_, &number);
    if (over_) return;
    if (first_.exchange(number) != 0) {
      std::signal(number, SIG_DFL);
      ::pthread_sigmask(SIG_UNBLOCK, &caught_, nullptr);
      std::raise(number);
    }
    stop_.request_stop();
  }
}

} // namespace pipeline
