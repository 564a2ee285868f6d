// Event counts. Invariant: each has one writer; any thread may read it.
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
  began, // to run after it had searched or rested
  executed_high,
  executed_low,
  io_events,
  count_
};

class counters {
  std::array<published<std::uint64_t>, static_cast<std::size_t>(counted::count_)> n_{};

public:
  /// By the one writer: a load and a store, no read-modify-write.
  void bump(counted c) noexcept {
    auto& n = n_[static_cast<std::size_t>(c)];
    n.publish(n.own() + 1); // a reader that sees a seat's count sees the thread's, which came before
  }
  [[nodiscard]] std::uint64_t operator[](counted c) const noexcept {
    return n_[static_cast<std::size_t>(c)].get();
  }
  void add_to(seat_stats& s) const noexcept {
    s.executed += (*this)[counted::executed];
    s.spawned += (*this)[counted::spawned];
    s.handed += (*this)[counted::handed];
    s.taken += (*this)[counted::taken];
    s.stolen += (*this)[counted::stolen];
    s.parked += (*this)[counted::parked];
    s.woken += (*this)[counted::woken];
    s.vacated += (*this)[counted::vacated];
    s.relieved += (*this)[counted::relieved];
  }
};

} // namespace rubato::detail
