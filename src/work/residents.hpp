// What waits in a pool: coroutines that have been suspended at least once, continuations that are to run
// there. At the pool's end what nobody will bring back is broken off. docs/design/coroutines.md
#pragma once

#include "rubato/detail/mutex.hpp"
#include "rubato/detail/resident.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace rubato::detail {

class residents {
  struct alignas(64) stripe {
    mutable mutex guard;
    resident* first = nullptr;
  };
  std::array<stripe, 8> stripes_;

  [[nodiscard]] stripe& stripe_of(resident const& r) noexcept {
    return stripes_[reinterpret_cast<std::uintptr_t>(&r) / 64 % stripes_.size()];
  }

  static void unlink(stripe& s, resident& r) noexcept;
  template<class Wanted, class F>
  void for_each(Wanted wanted, F f) noexcept;
  [[nodiscard]] bool lives_here(future_state const& work) const noexcept;

public:
  void add(resident& r) noexcept;
  /// Unless it was dropped.
  void remove(resident& r) noexcept;
  /// The pool drains: they are asked to stop, as far as they wait for time or for the world outside.
  void request_drain() noexcept;
  /// The pool discards: they are asked to stop, and all their waits end.
  void request_stop() noexcept;
  /// Drops all that can be withdrawn from what they wait for. True: it was at least one. When nobody runs in
  /// the pool.
  bool drop_stuck() noexcept;
  /// How many are left.
  [[nodiscard]] std::size_t count() const noexcept;
};

} // namespace rubato::detail
