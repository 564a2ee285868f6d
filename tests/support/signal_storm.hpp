// Signals that interrupt every thread of the process, as an interval timer of a profiler does.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <stop_token>
#include <thread>

#include "support/threads.hpp"

namespace rubato_test {

/// While it lives each thread that does not block SIGURG receives it a thousand times a second. The handler
/// does nothing, and is installed without SA_RESTART: a system call that the signal interrupts fails with
/// EINTR, if it can.
class signal_storm {
  struct sigaction before_{};
  std::jthread sender_;

  static void send(std::stop_token const& over) {
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGURG);
    ::pthread_sigmask(SIG_BLOCK, &own, nullptr);
    while (!over.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      for (int const id : thread_ids()) ::syscall(SYS_tgkill, ::getpid(), id, SIGURG);
    }
  }

public:
  signal_storm() {
    struct sigaction ours{};
    ours.sa_handler = [](int) {};
    ::sigaction(SIGURG, &ours, &before_);
    sender_ = std::jthread(&signal_storm::send);
  }
  signal_storm(signal_storm const&) = delete;
  signal_storm& operator=(signal_storm const&) = delete;
  ~signal_storm() {
    sender_.request_stop();
    sender_.join();
    ::sigaction(SIGURG, &before_, nullptr); // its default action is to do nothing
  }
};

} // namespace rubato_test
