// Event counts. Invariant: each has one writer; any thread may read it.
#pragma once

#include "rubato/stats.hpp"

#include <array>
#include <atomic>
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
  count_
};

class counters {
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(counted::count_)> n_{};

public:
  /// By the one writer: a load and a store, no read-modify-write.
  void bump(counted c) noexcept {
    auto& n = n_[static_cast<std::size_t>(c)];
    // release: pairs with operator[], because a reader that sees a seat's count then sees the thread's too.
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t operator[](counted c) const noexcept {
    return n_[static_cast<std::size_t>(c)].load(std::memory_order_acquire); // pairs with bump()
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
