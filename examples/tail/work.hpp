// What each call does: it computes, and sometimes it stalls in the middle.
#pragma once

#include "target.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>

namespace tail {

struct workload {
  std::chrono::nanoseconds compute = std::chrono::microseconds(1300);
  double stall_chance = 0.05;
  std::chrono::nanoseconds shortest_stall = std::chrono::milliseconds(5);
  std::chrono::nanoseconds longest_stall = std::chrono::milliseconds(20);
  bool stalls_poll = true; ///< a stalled copy looks at its token; else it sleeps to the end
  std::uint64_t seed = 1;
};

/// A function that burns CPU time.
class work : public target {
  const workload load_;
  double steps_per_nanosecond_ = 0;
  std::atomic<std::uint64_t> copies_{0};
  std::atomic<unsigned> active_{0};

  bool compute(std::chrono::nanoseconds time, const std::stop_token& token) const;
  void stall(std::chrono::nanoseconds time, const std::stop_token& token) const;

public:
  /// Measures how many steps the computation takes in a nanosecond.
  explicit work(const workload& load);

  /// Copy `copy` of call `call`. The stall depends on the two numbers and the seed alone, so that all
  /// strategies meet the same stalls. Returns answer(call).
  std::uint64_t run(std::uint64_t call, unsigned copy, const std::stop_token& token);
  static std::uint64_t answer(std::uint64_t call);

  void call(rubato::pool& pool, const strategy& how, std::uint64_t number) override;
  std::uint64_t copies() const override { return copies_.load(std::memory_order_relaxed); }
  void wait() override;
};

} // namespace tail
