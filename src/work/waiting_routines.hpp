// The routines that wait in a pool. At its end the pool wakes those that wait for time, and ends the waits of
// those that no thread wakes. docs/design/routines.md
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/work/waiting_routine.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace rubato::detail {

class waiting_routines {
  struct alignas(64) stripe {
    mutex guard;
    intrusive_list<waiting_routine> routines RUBATO_GUARDED_BY(guard);
    announced<std::size_t> count; // of those, and of those that are being queued
  };
  std::array<stripe, 8> stripes_;

  [[nodiscard]] stripe& stripe_of(void const* r) noexcept {
    return stripes_[reinterpret_cast<std::uintptr_t>(r) / 128 % stripes_.size()];
  }
  template<class Move>
  void take(intrusive_list<waiting_routine>& to, Move move) noexcept;

public:
  /// For the thread that has the routine. Until left() the pool does not close.
  void add(waiting_routine& r) noexcept;
  /// For the thread that has moved the routine on, before that thread pushes it.
  void remove(waiting_routine& r) noexcept;
  /// After that. The routine may be gone: `r` is only its address.
  void left(void const* r) noexcept {
    stripe_of(r).count.subtract(1); // any() sees what was queued before
  }
  [[nodiscard]] bool any() const noexcept;

  /// The pool drains: wakes the routines that wait for time.
  void resume_timed() noexcept;
  /// Moves all that wait into that list. The caller passes it to end_waits().
  void withdraw(intrusive_list<waiting_routine>& to) noexcept;
  static void end_waits(intrusive_list<waiting_routine>& withdrawn) noexcept;
};

} // namespace rubato::detail
