// One operation, many times: back to back inside the pool, or each after a sleep, from a thread outside.
#pragma once

#include "../harness/measure.hpp"
#include "../harness/statistics.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace bench {

enum class pace {
  back_to_back,
  after_sleep ///< every thread sleeps meanwhile: what a program pays that computes now and then
};

inline constexpr std::uint64_t nap_ns = 5'000'000;

/// For an operation on so many items.
inline std::uint64_t repeats_for(std::uint64_t items) {
  return std::clamp<std::uint64_t>(30'000'000 / std::max<std::uint64_t>(1, items), 3, 20'000);
}

/// Times op() after prepare(), which is not timed: the mean back to back, the median after a sleep.
template<class R, class Prepare, class Op>
measurement repeat_prepared(R& r, pace how, std::uint64_t repeats, Prepare prepare, Op op) {
  std::uint64_t cpu = 0;
  std::vector<double> all;
  const auto once = [&](auto call) {
    const std::uint64_t used = cpu_ns(), start = now_ns();
    call();
    all.push_back(static_cast<double>(now_ns() - start));
    cpu += cpu_ns() - used;
  };
  r.run([&] {
    prepare();
    op(); // starts the threads, touches the memory
    if (how == pace::after_sleep) return;
    for (std::uint64_t k = 0; k != repeats; ++k) {
      prepare();
      once(op);
    }
  });
  if (how == pace::after_sleep) {
    repeats = std::min<std::uint64_t>(repeats, 40);
    for (std::uint64_t k = 0; k != repeats; ++k) {
      prepare();
      sleep_ns(nap_ns);
      once([&] { r.run(op); });
    }
  }
  const double mean = std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  const double used = static_cast<double>(cpu) / static_cast<double>(all.size());
  if (how == pace::back_to_back) return {mean, used, 0};
  return {quantile(all, 0.5), used, 0, {{"mean_ns", mean}, {"p99_ns", quantile(all, 0.99)}}};
}

/// The same for an operation that finds its input as it left it. Back to back the clock is read twice in all.
template<class R, class Op>
measurement repeat(R& r, pace how, std::uint64_t repeats, Op op) {
  if (how == pace::after_sleep) return repeat_prepared(r, how, repeats, [] {}, op);
  measurement m;
  r.run([&] {
    op(); // starts the threads, touches the memory
    m = timed(static_cast<double>(repeats), [&] {
      for (std::uint64_t k = 0; k != repeats; ++k) op();
      return std::uint64_t{0};
    });
  });
  return m;
}

} // namespace bench
