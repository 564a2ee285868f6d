// examples/life on any contender: a board of 200 x 200 at 60 frames per second; a frame without its sleep,
// and the CPU time of all threads per frame. The loop of the frames runs inside of the pool.
#pragma once

#include "../../harness/statistics.hpp"
#include "../fib.hpp"

#include <life/board.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

/// Bridged: the threads take rows from a sequence that cannot be split.
template<bool Bridged, class R>
void step(const life::board& now, life::board& next) {
  constexpr std::size_t worth_a_thread = std::size_t{1} << 16U; // cells, which take some 10 us
  const std::size_t least = worth_a_thread / now.columns();
  const auto make = [&](std::size_t r) { next.make_row(now, r); };
  if constexpr (Bridged) {
    auto living = std::views::iota(std::size_t{0}, now.rows()) |
                  std::views::filter([&](std::size_t r) { return now.may_live(r); });
    for (std::size_t r = 0; r != now.rows(); ++r)
      if (!now.may_live(r)) next.clear_row(r);
    R::bridge(living, least, make);
  } else {
    R::for_rows(now.rows(), least, make);
  }
}

template<bool Bridged, class R>
measurement life_at_60_hz(R& r, std::uint64_t frames) {
  using namespace std::chrono_literals;
  constexpr std::size_t side = 200;
  constexpr double density = 0.3;
  constexpr auto frame = std::chrono::nanoseconds(1s) / 60;
  life::board now = life::random_board(side, side, density, 0), next(side, side);
  std::vector<double> times;
  measurement m;
  warm_up(r);
  r.run([&] {
    std::this_thread::sleep_for(20ms); // the other threads have gone to sleep
    const std::uint64_t cpu = cpu_ns();
    auto due = std::chrono::steady_clock::now();
    for (std::uint64_t k = 0; k != frames; ++k) {
      const std::uint64_t start = now_ns();
      step<Bridged, R>(now, next);
      times.push_back(static_cast<double>(now_ns() - start));
      std::swap(now, next);
      std::this_thread::sleep_until(due += frame);
    }
    m.cpu_ns = static_cast<double>(cpu_ns() - cpu) / static_cast<double>(frames);
  });
  m.ns = quantile(times, 0.5);
  m.extra = {{"p99_frame_ns", quantile(times, 0.99)}};
  for (std::size_t i = 0; i != side; ++i)
    for (std::size_t c = 0; c != side; ++c) m.checksum += (i * side + c + 1) * now.row(i)[c];
  return m;
}

} // namespace bench
