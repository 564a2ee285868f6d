// A frame at 60 Hz: 16 ms of sleep, then forty tasks of 100 us, which two cores can do in 2 ms. Reported is a
// frame without its sleep, and when the second thread began to work on it.
#pragma once

#include "../harness/statistics.hpp"
#include "../harness/work.hpp"
#include "fib.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace bench {

/// Steps of busy() that take so long on a core that does nothing else: the fastest of some tries.
inline std::uint64_t steps_for(std::uint64_t ns) {
  constexpr std::uint64_t probe = 100'000;
  constexpr int tries = 20;
  std::uint64_t best = ~std::uint64_t{0};
  for (int i = 0; i != tries; ++i) {
    const std::uint64_t start = now_ns();
    busy(probe);
    best = std::min(best, now_ns() - start);
  }
  return probe * ns / std::max<std::uint64_t>(1, best);
}

template<bool Scope, class R>
measurement frame(R& r, std::uint64_t frames) {
  constexpr std::uint64_t idle_ns = 16'000'000, task_ns = 100'000;
  constexpr std::size_t tasks = 40;
  const std::uint64_t steps = steps_for(task_ns);
  std::vector<double> totals, seconds;
  std::uint64_t checksum = 0;
  warm_up(r);
  const std::uint64_t cpu = cpu_ns();
  for (std::uint64_t k = 0; k != frames; ++k) {
    sleep_ns(idle_ns);
    std::atomic<std::uint64_t> second{0}, done{0};
    const std::uint64_t start = now_ns();
    r.run([&] {
      const std::thread::id first = std::this_thread::get_id();
      auto task = [&](std::size_t) {
        std::uint64_t none = 0;
        if (std::this_thread::get_id() != first && second.load(std::memory_order_relaxed) == 0)
          second.compare_exchange_strong(none, now_ns() - start);
        busy(steps);
        done.fetch_add(1, std::memory_order_relaxed);
      };
      if constexpr (Scope)
        R::scope(tasks, task);
      else
        R::for_index(tasks, task);
    });
    const std::uint64_t total = now_ns() - start;
    totals.push_back(static_cast<double>(total));
    seconds.push_back(static_cast<double>(second.load() != 0 ? second.load() : total)); // it never came
    checksum += done.load();
  }
  return {quantile(totals, 0.5),
          static_cast<double>(cpu_ns() - cpu) / static_cast<double>(frames),
          checksum,
          {{"p99_ns", quantile(totals, 0.99)},
           {"second_p50_ns", quantile(seconds, 0.5)},
           {"second_p99_ns", quantile(seconds, 0.99)}}};
}

} // namespace bench
