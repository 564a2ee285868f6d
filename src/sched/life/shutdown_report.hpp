// The report of a long shutdown on standard error. docs/design/lifecycle.md
#pragma once

#include <chrono>
#include <string>

namespace rubato::detail {

class pool_core;

/// Made when a shutdown begins. Prints once, a second later.
class shutdown_report {
  pool_core& core_;
  std::string const& name_;
  std::chrono::steady_clock::time_point const discard_at_;
  std::chrono::steady_clock::time_point const began_ = std::chrono::steady_clock::now();
  bool printed_ = false;

public:
  /// `discard_at`: when the shutdown begins to discard; the clock's max(): never by itself.
  shutdown_report(pool_core& core, std::string const& name,
                  std::chrono::steady_clock::time_point discard_at) noexcept
      : core_(core)
      , name_(name)
      , discard_at_(discard_at) {}
  /// When it is to be printed; the clock's max() afterwards.
  [[nodiscard]] std::chrono::steady_clock::time_point due() const noexcept;
  /// Says which threads run or wait, where and how long, and what else keeps the pool from ending.
  void print() noexcept;
};

} // namespace rubato::detail
