// When a slow call gets a second copy: a live quantile of how long calls take, and a budget of extra work.
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

/// What a hedge_policy has seen. The counts do not belong to one moment while calls are under way.
struct hedge_policy_stats {
  std::uint64_t calls = 0;   ///< recorded durations
  std::uint64_t hedges = 0;  ///< copies permitted, less those that were withdrawn
  std::uint64_t refused = 0; ///< copies for which the budget had nothing left
};

/// Decides for one call site when a call is late enough for a second copy, and whether the budget permits
/// that copy. race() and hedge() take it in their options; a program that hedges by its own means calls the
/// functions below: threshold() when a call begins, try_hedge() when the call has taken that long, record()
/// when its first result is there.
///
/// **Threshold.** The chosen quantile of the recorded durations, never below that of the samples and at most
/// 1/32 above it (above 18 minutes: 18 minutes). The weight of a sample halves whenever 64 / (1 - quantile)
/// further calls have been recorded: 1,280 for the 95th percentile. So the threshold follows: up within a few
/// hundred calls, down within a few thousand. Until 4 / (1 - quantile) calls are recorded (80), and the 32
/// samples that each thread keeps back, there is no threshold and nothing is hedged.
///
/// **Budget.** A token bucket: each recorded call earns `budget` tokens, each copy takes one, the bucket
/// starts empty and holds at most `burst`. So n calls in a row bring at most budget * n + burst copies, and
/// all calls together at most budget times their number.
///
/// Any number of threads may use it at once. They share no cache line while they record; only one of 32
/// records takes a lock, which it never waits for. The policy takes about 10 KiB, and 192 bytes for each CPU
/// (4 to 64). Make it `static`, or let it live until the pool of its calls is idle: losers of a hedge may
/// still be running then, and a timer that fires may ask the policy.
///
/// Sources: J. Dean, L. A. Barroso, "The tail at scale", CACM 56(2), 2013, for hedging at a quantile; the
/// log-linear buckets of G. Tene's HdrHistogram, whose bounded relative error C. Masson, J. Rim and H. Lee,
/// "DDSketch", VLDB 2019, argue for; G. Cormode et al., "Forward decay", ICDE 2009, for the aging; ITU-T
/// I.371, "virtual scheduling", for a token bucket in one word.
class hedge_policy {
  struct parts;
  static constexpr std::int64_t none = -1;

  std::unique_ptr<parts> parts_;
  std::atomic<std::int64_t> threshold_{none}; // nanoseconds

public:
  /// quantile: between 0 and 1, both excluded. budget: copies per call, from 0 (never hedge) to 1. burst:
  /// copies. Throws std::invalid_argument if the first two are out of range.
  explicit hedge_policy(double quantile = 0.95, double budget = 0.05, unsigned burst = 50);
  hedge_policy(hedge_policy const&) = delete;
  hedge_policy& operator=(hedge_policy const&) = delete;
  ~hedge_policy();

  /// How long a call may take before it gets a second copy; nothing while too few calls are recorded. One
  /// load.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> threshold() const noexcept {
    // relaxed: the number stands for itself.
    std::int64_t const now = threshold_.load(std::memory_order_relaxed);
    if (now == none) return std::nullopt;
    return std::chrono::nanoseconds(now);
  }

  /// A call took that long until its first result. Hedged calls count like all others: a copy that begins at
  /// the threshold changes no duration below the threshold, so it does not bend the quantile. A call that
  /// was given up later than the threshold may be recorded with the time that it had taken by then.
  void record(std::chrono::nanoseconds duration) noexcept;

  /// Takes a token for one copy. False: the budget is spent, and the call has to do without.
  [[nodiscard]] bool try_hedge() noexcept;
  /// Gives back the token of a copy that has not begun, because the call had its result before.
  void withdraw_hedge() noexcept;

  /// Reads all threads' counters: for reports, not for every call.
  [[nodiscard]] hedge_policy_stats stats() const noexcept;
};

} // namespace rubato
