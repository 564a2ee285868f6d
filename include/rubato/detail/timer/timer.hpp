// A timer calls a function at a point in time. docs/design/timers.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include <atomic>
#include <chrono>
#include <cstdint>

namespace rubato::detail {

class pool_core;
class timer;

/// A timer's place in its wheel, used only by that wheel and its shard.
class timer_node {
  friend class timer_wheel;
  template<class Policy, unsigned Shards>
  friend class basic_timer_shards;

  // Guarded by the lock of its shard.
  timer* next_ = nullptr;
  timer* previous_ = nullptr;

public:
  /// Written while the timer is not armed.
  std::chrono::steady_clock::time_point due{};

private:
  static constexpr std::uint16_t unlinked = 0xffff;
  std::uint16_t slot_ = unlinked; ///< of its wheel; guarded by the lock of its shard
  static constexpr std::uint16_t no_shard = 0xffff;
  /// Written by arm() under the lock of that shard. A thread may disarm while another arms for the first
  /// time; between two armings the caller orders them.
  std::atomic<std::uint16_t> shard_{no_shard};
};

/// Intrusive: the thread that arms it keeps it in place until it has fired or was disarmed.
class timer : public timer_node {
protected:
  timer() noexcept = default;
  ~timer() = default;

public:
  timer(timer const&) = delete;
  timer& operator=(timer const&) = delete;

  // By the firer, no earlier than `due`; both are short and run no user code.

  /// Under the lock of the timer's shard, so that a thread that has called disarm() afterwards knows that it
  /// is over. False: there is nothing to fire, and the firer does not touch the timer afterwards.
  [[nodiscard]] virtual bool claim() noexcept { return true; }
  /// Without locks, once. After the call the firer does not touch the timer.
  virtual void fire() noexcept = 0;

  // At the end of a pool.

  /// Under that lock. True: the timer is taken out, and call_off() is called in place of fire().
  [[nodiscard]] virtual bool ends_with(pool_core const& /*core*/) const noexcept { return false; }
  virtual void call_off() noexcept {}
};

/// Thread-safe. The timer may have fired, and be gone, when this returns.
RUBATO_API void arm(timer& t) noexcept;
/// True: it will not fire. False: it was not armed, or is firing now.
[[nodiscard]] RUBATO_API bool disarm(timer& t) noexcept;

} // namespace rubato::detail
