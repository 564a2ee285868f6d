// The counters behind stats(). Invariant: each has one writer; any thread may read it.
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/stats.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace rubato::detail {

enum class counted : unsigned char {
  executed,
  spawned,
  handed,
  taken,
  stolen,
  parked,
  woken,
  vacated,
  relieved,
  contended,
  began, // how often a thread began to run after it had searched; for quiescence, not for stats()
  executed_high,
  executed_low,
  io_events,
  count_
};

/// Where stats() reports a count of a seat. A new counter stands here, or in `counts_of_the_pool`: else the
/// assertions below fail. One of those is reported only if pool_core::stats() adds it up.
struct count_of_seat {
  counted count;
  std::uint64_t seat_stats::* reported;
};
inline constexpr std::array counts_of_seats = {
    count_of_seat{counted::executed, &seat_stats::executed},
    count_of_seat{counted::spawned, &seat_stats::spawned},
    count_of_seat{counted::handed, &seat_stats::handed},
    count_of_seat{counted::taken, &seat_stats::taken},
    count_of_seat{counted::stolen, &seat_stats::stolen},
    count_of_seat{counted::parked, &seat_stats::parked},
    count_of_seat{counted::woken, &seat_stats::woken},
    count_of_seat{counted::vacated, &seat_stats::vacated},
    count_of_seat{counted::relieved, &seat_stats::relieved},
    count_of_seat{counted::io_events, &seat_stats::io_events},
};
inline constexpr std::array counts_of_the_pool = {counted::contended, counted::began, counted::executed_high,
                                                  counted::executed_low};

static_assert(counts_of_seats.size() + counts_of_the_pool.size() == static_cast<std::size_t>(counted::count_),
              "a count that stands in neither table is reported nowhere");
static_assert(sizeof(seat_stats) == (counts_of_seats.size() + 1) * sizeof(std::uint64_t),
              "a member of seat_stats other than `timers` that is in no table is always 0");

class counters {
  std::array<published<std::uint64_t>, static_cast<std::size_t>(counted::count_)> n_{};

public:
  /// By the one writer: a load and a store, no read-modify-write.
  void bump(counted c, std::uint64_t by = 1) noexcept {
    auto& n = n_[static_cast<std::size_t>(c)];
    n.publish(n.own() + by); // a reader that sees a seat's count sees the thread's, which came before
  }
  [[nodiscard]] std::uint64_t operator[](counted c) const noexcept {
    return n_[static_cast<std::size_t>(c)].get();
  }
  void add_to(seat_stats& s) const noexcept {
    for (auto const& [count, reported] : counts_of_seats) s.*reported += (*this)[count];
  }
};

} // namespace rubato::detail
