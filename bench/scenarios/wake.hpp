// From enqueue to the start of the task, when all workers sleep; and, in turn with it, from a bare futex wake
// to the return of the wait: the least that any pool can take.
#pragma once

#include "../harness/statistics.hpp"
#include "enqueue.hpp"

#include <thread>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace bench {

/// A thread that sleeps on a word and notes when it was woken.
class futex_peer {
  std::atomic<std::uint32_t> word_{0};
  std::atomic<std::uint64_t> woken_at_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_{[this] { sleep_and_note(); }};

  void call(int operation, std::uint32_t value) {
    syscall(SYS_futex, &word_, operation, value, nullptr, nullptr, 0);
  }
  void sleep_and_note() {
    for (std::uint32_t seen = 0; !stop_.load();) {
      while (word_.load() == seen) call(FUTEX_WAIT_PRIVATE, seen);
      woken_at_.store(now_ns());
      ++seen;
    }
  }

public:
  futex_peer() = default;
  futex_peer(const futex_peer&) = delete;
  futex_peer& operator=(const futex_peer&) = delete;
  ~futex_peer() {
    stop_.store(true);
    wake();
    thread_.join();
  }
  void wake() {
    word_.fetch_add(1);
    call(FUTEX_WAKE_PRIVATE, 1);
  }
  std::uint64_t woken_at() const { return woken_at_.load(); }
};

template<class R>
measurement wake(R& r, std::uint64_t samples) {
  constexpr std::uint64_t rest = 3'000'000; // long enough for every thread to be asleep
  constexpr std::uint64_t warm_ups = 10;
  static std::atomic<std::uint64_t> started_at;
  futex_peer peer;
  std::vector<double> pool, futex;
  const std::uint64_t cpu = cpu_ns();
  for (std::uint64_t i = 0; i != samples + warm_ups; ++i) {
    sleep_ns(rest);
    const std::uint64_t enqueued = now_ns();
    r.enqueue([] { started_at.store(now_ns()); });
    sleep_ns(rest);
    const std::uint64_t called = now_ns();
    peer.wake();
    while (peer.woken_at() < called || started_at.load() < enqueued) sleep_ns(rest);
    if (i < warm_ups) continue;
    pool.push_back(static_cast<double>(started_at.load() - enqueued));
    futex.push_back(static_cast<double>(peer.woken_at() - called));
  }
  return {quantile(pool, 0.5),
          static_cast<double>(cpu_ns() - cpu) / static_cast<double>(samples),
          samples,
          {{"p99_ns", quantile(pool, 0.99)},
           {"futex_p50_ns", quantile(futex, 0.5)},
           {"futex_p99_ns", quantile(futex, 0.99)}}};
}

} // namespace bench
