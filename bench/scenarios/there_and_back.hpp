// One task there and back, again and again: the pool is awake. The median, in ns.
#pragma once

#include "../harness/measure.hpp"
#include "../harness/statistics.hpp"

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

namespace bench {

/// The median of what `once` takes; its 99th percentile and the mean in the remarks.
template<class F>
measurement each(std::uint64_t times, F once) {
  const std::uint64_t warm_ups = times / 10;
  std::vector<double> samples;
  samples.reserve(times);
  const std::uint64_t cpu = cpu_ns();
  double sum = 0;
  for (std::uint64_t i = 0; i != times + warm_ups; ++i) {
    const std::uint64_t begun = now_ns();
    once();
    const auto took = static_cast<double>(now_ns() - begun);
    if (i < warm_ups) continue;
    samples.push_back(took);
    sum += took;
  }
  const auto n = static_cast<double>(times);
  measurement m{quantile(samples, 0.5), static_cast<double>(cpu_ns() - cpu) / n, times, {}};
  m.extra = {{"mean_ns", sum / n}, {"p99_ns", quantile(std::move(samples), 0.99)}};
  return m;
}

/// The caller watches a flag that the task sets.
template<class R>
measurement latency(R& r, std::uint64_t times) {
  static std::atomic<std::uint64_t> seen;
  seen.store(0);
  std::uint64_t round = 0;
  return each(times, [&] {
    ++round;
    r.enqueue([] { seen.fetch_add(1, std::memory_order_release); });
    while (seen.load(std::memory_order_acquire) != round) {
    }
  });
}

/// The caller asks for the result, in the contender's own way to wait.
template<class R>
measurement spawn_and_get(R& r, std::uint64_t times) {
  return each(times, [&] { r.spawn([] { return std::uint64_t{1}; }).get(); });
}

} // namespace bench
