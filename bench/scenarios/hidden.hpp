// Forty jobs of 1 ms, latent behind a leaf of 60 ms that never forks, yields or returns. Two cores can be
// done in 60 ms; where the jobs stay hidden until the leaf ends, a core idles and it takes 100.
#pragma once

#include "../harness/statistics.hpp"
#include "fib.hpp"

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

namespace bench {

class hiding_place {
  static constexpr std::size_t jobs = 40;
  static constexpr std::uint64_t job_ns = 1'000'000;
  static constexpr std::uint64_t leaf_ns = 60'000'000;

  struct interval {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::thread::id thread{};

    void fill(std::uint64_t ns) {
      thread = std::this_thread::get_id();
      start = now_ns();
      compute_for(ns);
      end = now_ns();
    }
  };
  std::array<interval, jobs> jobs_{};
  interval leaf_{};

public:
  /// Job 0 becomes latent first; the leaf lies below all of them.
  template<class R>
  std::uint64_t descend(std::size_t depth = 0) {
    if (depth == jobs) {
      leaf_.fill(leaf_ns);
      return 1;
    }
    auto [below, here] = R::join([this, depth] { return descend<R>(depth + 1); },
                                 [this, depth] {
                                   jobs_[depth].fill(job_ns);
                                   return std::uint64_t{1};
                                 });
    return below + here;
  }

  /// For each job that starts while the core beside the leaf's has nothing to do: how long it has had nothing
  /// to do.
  void add_latencies(std::vector<double>& latencies) const {
    auto by_start = jobs_;
    std::sort(by_start.begin(), by_start.end(), [](auto& a, auto& b) { return a.start < b.start; });
    std::uint64_t idle_since = leaf_.start;
    for (const interval& job : by_start) {
      if (job.start >= idle_since) latencies.push_back(static_cast<double>(job.start - idle_since));
      if (job.thread != leaf_.thread) idle_since = std::max(idle_since, job.end);
    }
  }
};

template<class R>
measurement hidden(R& r, std::uint64_t repeats) {
  warm_up(r);
  std::vector<double> totals, latencies;
  std::uint64_t checksum = 0;
  const std::uint64_t cpu = cpu_ns();
  for (std::uint64_t k = 0; k != repeats; ++k) {
    sleep_ns(5'000'000); // every thread is asleep
    hiding_place place;
    const std::uint64_t start = now_ns();
    r.run([&] { checksum += place.descend<R>(); });
    totals.push_back(static_cast<double>(now_ns() - start));
    place.add_latencies(latencies);
  }
  return {quantile(totals, 0.5),
          static_cast<double>(cpu_ns() - cpu) / static_cast<double>(repeats),
          checksum,
          {{"start_p50_ns", quantile(latencies, 0.5)}, {"start_p99_ns", quantile(latencies, 0.99)}}};
}

} // namespace bench
