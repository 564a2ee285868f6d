// Decides when a slow call gets a second copy: at a live quantile of the calls' durations, within a budget.
//
//   #include <rubato/hedge_policy.hpp>
//
//   #include <chrono>
//   #include <cstdio>
//
//   int main() {
//     using namespace std::chrono_literals;
//     static rubato::hedge_policy policy(0.95, 0.05); // one per call site
//     for (int i = 0; i != 1'000; ++i) policy.record(i % 50 == 0 ? 20ms : 1ms); // one call in 50 stalls
//     auto const after = policy.threshold().value();
//     std::printf("%d\n", after >= 1ms && after < 1100us); // -> 1
//     int copies = 0;
//     while (policy.try_hedge()) ++copies;
//     std::printf("%d copies in 1,000 calls\n", copies); // -> 50 copies in 1,000 calls
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace rubato {

/// Counts of a hedge_policy. While calls are under way, the counts are not all from the same moment.
struct hedge_policy_stats {
  std::uint64_t calls = 0;   ///< recorded durations
  std::uint64_t hedges = 0;  ///< copies permitted, less those that were withdrawn
  std::uint64_t refused = 0; ///< copies for which the budget had nothing left
};

/// Decides, for one call site, when a call is late enough for a second copy, and whether the budget permits
/// that copy. race() and hedge() take a policy in their options. A program that starts copies by other means
/// calls threshold() when a call begins, try_hedge() when the call has taken that long, and record() when the
/// call has its first result.
///
/// **Threshold.** An estimate of the chosen quantile of the recorded durations: never below the exact
/// quantile, and at most 1/32 above it. A duration above 18 minutes counts as 18 minutes. The weight of a
/// sample halves after 64 / (1 - quantile) further calls, at least 256: 1,280 for the 95th percentile. So the
/// threshold rises within a few hundred calls and falls within a few thousand. Samples are evaluated in
/// groups of 32 per thread. The first threshold needs a sixteenth of that half-life: 80 calls for the 95th
/// percentile. If one thread makes all calls, these are three groups: 96 calls. Before that no call gets a
/// second copy.
///
/// **Budget.** A token bucket: each recorded call earns `budget` tokens, and each copy takes one. The bucket
/// starts empty and holds at most `burst`. So n consecutive calls get at most budget * n + burst copies, and
/// all calls together at most budget times their number.
///
/// Thread-safe. Threads that record share no cache line. No thread waits for a lock: a sample that finds all
/// locks taken is left out. The policy takes about 10 KiB, and a buffer of some cache lines for each CPU (4
/// to 64). Make it `static`, or let it live until the pool of its calls is idle: after hedge() has returned,
/// losers may still run, and a timer that fires may still ask the policy.
///
/// Sources: J. Dean, L. A. Barroso, "The tail at scale", CACM 56(2), 2013, for hedging at a quantile; the
/// log-linear buckets of G. Tene's HdrHistogram, whose bounded relative error C. Masson, J. Rim and H. Lee,
/// "DDSketch", VLDB 2019, argue for; G. Cormode et al., "Forward decay", ICDE 2009, for the aging; ITU-T
/// I.371, "virtual scheduling", for a token bucket in one word.
class RUBATO_API hedge_policy {
  struct parts;
  static constexpr std::int64_t none = -1;

  std::unique_ptr<parts> parts_;
  std::atomic<std::int64_t> threshold_{none}; // nanoseconds

public:
  /// `quantile`: between 0 and 1, both excluded. `budget`: copies per call, from 0 (never hedge) to 1.
  /// `burst`: the most copies that the bucket holds. Throws std::invalid_argument if one of the first two is
  /// out of range, and std::bad_alloc.
  explicit hedge_policy(double quantile = 0.95, double budget = 0.05, unsigned burst = 50);
  hedge_policy(hedge_policy const&) = delete;
  hedge_policy& operator=(hedge_policy const&) = delete;
  ~hedge_policy();

  /// How long a call may take before it gets a second copy; nullopt while too few calls are recorded. One
  /// load.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> threshold() const noexcept {
    // relaxed: the number stands for itself.
    std::int64_t const now = threshold_.load(std::memory_order_relaxed);
    if (now == none) return std::nullopt;
    return std::chrono::nanoseconds(now);
  }

  /// Records how long a call took until its first result. Record hedged calls too: a copy that begins at the
  /// threshold changes no duration below the threshold, so the quantile stays right. A call that was
  /// cancelled later than the threshold may be recorded with the time until its cancellation.
  void record(std::chrono::nanoseconds duration) noexcept;

  /// Takes a token for one copy. Returns false if there is none.
  [[nodiscard]] bool try_hedge() noexcept;
  /// Gives back the token of a copy that never began, because the call had its result before.
  void withdraw_hedge() noexcept;

  /// Reads the counters of all threads: for reports, not for every call.
  [[nodiscard]] hedge_policy_stats stats() const noexcept;
};

} // namespace rubato
