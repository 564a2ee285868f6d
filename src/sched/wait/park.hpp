// How a thread of a pool sleeps in a wait, and leaves its seats meanwhile. docs/design/parking.md
#pragma once

#include "base/function_ref.hpp"
#include "os/clock.hpp"
#include "rubato/detail/base/policy.hpp"
#include "sched/run/polite_spin.hpp"
#include "work/pool_thread.hpp"

#include <chrono>
#include <cstdint>

namespace rubato::detail {

/// Leaves the seat, and those that the thread holds in other pools. Null: it has none here.
[[nodiscard]] seat* leave_seats(pool_thread& t) noexcept;
void return_to_seats(pool_thread& t, seat* s) noexcept;

/// While it lives, the calling thread holds no seat in any pool that it is a member of.
class seats_left {
  thread_context& me_ = *current;
  seat* const seat_ = me_.core != nullptr ? leave_seats(thread_of(me_)) : nullptr;

public:
  seats_left() noexcept = default;
  seats_left(seats_left const&) = delete;
  ~seats_left() {
    if (me_.core != nullptr) return_to_seats(thread_of(me_), seat_);
  }
};

/// How long a thread outside the pools waits awake before it sleeps: less than a sleep and a wake cost.
inline constexpr std::int64_t outside_spin_us = 20;

/// Waits awake until `done`, for that long at most.
template<class Done>
void spin(os::ticks how_long, Done done) noexcept {
  os::ticks now = os::now();
  os::ticks const until = now + how_long;
  polite_spin awake(now);
  for (; !done() && now < until; now = os::now()) {
    awake.yield_if_due(now);
    for (unsigned i = 0; i != 16 && !done(); ++i) std_policy::pause();
  }
}

/// Leaves the seat, sleeps until `done`, comes back; drives the pool if it has no workers. The thread that
/// makes `done` true unparks this one afterwards.
void park_until(
    pool_thread& t, char const* why, thread_context const* waits_for, function_ref<bool()> done,
    std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max()) noexcept;

} // namespace rubato::detail
