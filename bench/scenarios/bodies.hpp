// Tasks of 1 us from one outside thread until all have run: what a task costs beyond its body; ns per task.
#pragma once

#include "../harness/measure.hpp"
#include "../harness/work.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace bench {

inline void microsecond() { busy(100 * busy_steps); }

/// What a body takes, by the CPU time of this thread: a pool may be spinning beside it.
inline double body_ns() {
  constexpr std::uint64_t bodies = 20'000;
  std::uint64_t best = ~std::uint64_t{0};
  for (int i = 0; i != 5; ++i) {
    const std::uint64_t begun = read_clock(CLOCK_THREAD_CPUTIME_ID);
    for (std::uint64_t k = 0; k != bodies; ++k) microsecond();
    best = std::min(best, read_clock(CLOCK_THREAD_CPUTIME_ID) - begun);
  }
  return static_cast<double>(best) / static_cast<double>(bodies);
}

/// The time per task less the body's share: as many cores as workers compute bodies, if there are as many.
/// The thread that hands them out needs one too; so there is more than the overhead in it with a worker per
/// core, for every contender.
template<class F>
measurement overhead(std::uint64_t tasks, unsigned workers, F all) {
  all(1000);
  const double body = body_ns();
  measurement m = timed(static_cast<double>(tasks), [&] { return all(tasks); });
  const double cores = std::min(workers, std::max(1U, std::thread::hardware_concurrency()));
  m.extra = {{"total_ns", m.ns}, {"body_ns", body}, {"cpu_overhead_ns", m.cpu_ns - body}};
  m.ns -= body / cores;
  return m;
}

template<class R>
measurement enqueue_bodies(R& r, std::uint64_t tasks, unsigned workers) {
  static std::atomic<std::uint64_t> left;
  static std::atomic<std::uint32_t> done;
  return overhead(tasks, workers, [&r](std::uint64_t n) {
    left.store(n);
    done.store(0);
    for (std::uint64_t i = 0; i != n; ++i)
      r.enqueue([] {
        microsecond();
        if (left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        done.store(1, std::memory_order_release);
        done.notify_one();
      });
    done.wait(0, std::memory_order_acquire);
    return left.load();
  });
}

template<class R>
measurement spawn_bodies(R& r, std::uint64_t tasks, unsigned workers) {
  auto make = [&r](std::uint64_t i) {
    return r.spawn([i] {
      microsecond();
      return i;
    });
  };
  return overhead(tasks, workers, [&](std::uint64_t n) {
    std::vector<decltype(make(0))> futures;
    futures.reserve(n);
    for (std::uint64_t i = 0; i != n; ++i) futures.push_back(make(i));
    std::uint64_t sum = 0;
    for (auto& f : futures) sum += f.get();
    return sum;
  });
}

} // namespace bench
