// What is called.
#pragma once

#include "strategy.hpp"

#include <rubato/thread_pool.hpp>

#include <cstdint>

namespace tail {

class target {
public:
  virtual ~target() = default;
  /// Makes the call of this number, and checks its result: throws if it is wrong.
  virtual void call(rubato::pool& pool, const strategy& how, std::uint64_t number) = 0;
  /// Copies that have begun, in all.
  virtual std::uint64_t copies() const = 0;
  /// Until no copy runs: losers may go on after their call.
  virtual void wait() = 0;
};

} // namespace tail
