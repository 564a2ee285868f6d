#include "servers.hpp"

#include "service.hpp"

#include <rubato/address.hpp>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <deque>
#include <mutex>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace savegame {

namespace {

using baseline::updater;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

int listen_at(const rubato::address& at) {
  const auto* address = static_cast<const sockaddr*>(at.data());
  const int fd = ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  if (fd < 0 || ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(fd, address, static_cast<socklen_t>(at.size())) != 0 || ::listen(fd, 4096) != 0)
    fail(at.to_string().c_str());
  return fd;
}

std::string name_of(int listener) {
  sockaddr_storage a{};
  socklen_t size = sizeof a;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&a), &size);
  return rubato::address::from_bytes(&a, size).to_string();
}

/// Connections that are being served.
class open_connections {
  std::mutex mutex_;
  std::condition_variable none_;
  std::size_t count_ = 0;

public:
  void begin() {
    const std::lock_guard lock(mutex_);
    ++count_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) none_.notify_all();
  }
  bool wait_for_end(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    return none_.wait_for(lock, at_most, [&] { return count_ == 0; });
  }
};

baseline::detached serve(service<on_baseline>& all, int fd, open_connections& open) {
  co_await all.serve(baseline::socket(fd));
  open.end();
}

/// A thread whose connections are pinned to it.
class updater_thread {
  std::mutex mutex_;
  std::vector<int> accepted_;
  std::atomic<bool> over_{false};
  std::thread thread_;

  void run(service<on_baseline>& all, open_connections& open, std::chrono::milliseconds period) {
    updater tasks;
    updater::mine = &tasks;
    for (auto next = std::chrono::steady_clock::now(); !over_;
         std::this_thread::sleep_until(next += period)) {
      std::vector<int> begun;
      {
        const std::lock_guard lock(mutex_);
        begun.swap(accepted_);
      }
      for (const int fd : begun) serve(all, fd, open);
      tasks.update();
      next = std::max(next, std::chrono::steady_clock::now() - period); // it does not catch up
    }
  }

public:
  updater_thread(service<on_baseline>& all, open_connections& open, std::chrono::milliseconds period)
      : thread_([&all, &open, period, this] { run(all, open, period); }) {}
  void add(int fd) {
    const std::lock_guard lock(mutex_);
    accepted_.push_back(fd);
  }
  ~updater_thread() {
    over_ = true;
    thread_.join();
  }
};

} // namespace

void run_baseline(const options& asked) {
  const int listener = listen_at(rubato::address(asked.host, asked.port));
  sigset_t ends;
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGINT);
  ::sigaddset(&ends, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  service<on_baseline> all(asked);
  open_connections open;
  std::deque<updater_thread> updaters;
  if (asked.runs_on == scheduler::updater)
    for (unsigned i = 0; i != asked.workers; ++i) updaters.emplace_back(all, open, asked.period);

  std::thread accepting([&] {
    for (std::size_t n = 0;; ++n) {
      const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0 && (errno == EINVAL || errno == EBADF)) return; // shut down
      if (fd < 0) continue;
      open.begin();
      if (updaters.empty())
        std::thread([&, fd] { serve(all, fd, open); }).detach();
      else
        updaters[n % updaters.size()].add(fd);
    }
  });
  std::printf("listening on %s\n", name_of(listener).c_str());
  std::fflush(stdout);
  int signal = 0;
  ::sigwait(&ends, &signal);
  ::pthread_sigmask(SIG_UNBLOCK, &ends, nullptr); // a second signal ends the program at once
  ::shutdown(listener, SHUT_RDWR);
  accepting.join();
  ::close(listener);
  all.close();
  if (!open.wait_for_end(asked.grace())) {
    std::fprintf(stderr, "savegame: some clients do not read or write: they are cut off\n");
    std::_Exit(0); // their threads cannot be stopped
  }
}

} // namespace savegame
