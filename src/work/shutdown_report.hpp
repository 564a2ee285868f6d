// What a shutdown that takes long says on standard error.
#pragma once

#include <chrono>

namespace rubato::detail {

class pool_core;

/// Made when a shutdown begins. Prints once, a second later.
class shutdown_report {
  pool_core& core_;
  std::chrono::steady_clock::time_point const began_ = std::chrono::steady_clock::now();
  bool printed_ = false;

public:
  explicit shutdown_report(pool_core& core) noexcept
      : core_(core) {}
  /// When it is to be printed; the clock's max() afterwards.
  [[nodiscard]] std::chrono::steady_clock::time_point due() const noexcept;
  /// Says which threads run or wait, where and how long, and what else keeps the pool from ending.
  void print() noexcept;
};

} // namespace rubato::detail
