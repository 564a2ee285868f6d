#include "experiment.hpp"

#include "shared/status_line.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <thread>

namespace tail {
namespace {

using clock = std::chrono::steady_clock;

double cpu_milliseconds() {
  return 1e3 * static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

void run_block(rubato::pool& pool, target& called, const strategy& s, std::uint64_t first, std::uint64_t last,
               std::chrono::nanoseconds every, result& into) {
  const double cpu = cpu_milliseconds();
  const std::uint64_t copies = called.copies();
  const bool by_the_clock = every > std::chrono::nanoseconds::zero();
  auto due = clock::now();
  for (std::uint64_t call = first; call != last; ++call) {
    if (by_the_clock)
      std::this_thread::sleep_until(due += every);
    else
      due = clock::now();
    called.call(pool, s, call);
    into.milliseconds.push_back(std::chrono::duration<double, std::milli>(clock::now() - due).count());
  }
  called.wait();
  into.copies += static_cast<double>(called.copies() - copies);
  into.cpu_milliseconds += cpu_milliseconds() - cpu;
}

} // namespace

double result::quantile(double share) const {
  if (milliseconds.empty()) return 0;
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(milliseconds.size())));
  return milliseconds[std::clamp<std::size_t>(rank, 1, milliseconds.size()) - 1];
}

std::vector<result> measure(rubato::pool& pool, target& called, const std::vector<strategy>& strategies,
                            const schedule& when) {
  const std::uint64_t calls = when.calls;
  constexpr std::uint64_t block = 500;
  std::vector<result> results(strategies.size());
  for (std::size_t s = 0; s != strategies.size(); ++s) {
    results[s].name = strategies[s].name;
    results[s].milliseconds.reserve(calls);
  }
  example::status_line progress;
  for (std::uint64_t first = 0; first < calls; first += block) {
    const std::uint64_t last = std::min(first + block, calls);
    for (std::size_t k = 0; k != strategies.size(); ++k) {
      const std::size_t s = (k + first / block) % strategies.size();
      run_block(pool, called, strategies[s], first, last, when.every, results[s]);
      if (progress.due())
        example::status_line::write(std::to_string(first) + " of " + std::to_string(calls) +
                                    " calls by each of " + std::to_string(strategies.size()) + " strategies");
    }
  }
  for (auto& r : results) {
    std::ranges::sort(r.milliseconds);
    r.copies /= static_cast<double>(calls);
    r.cpu_milliseconds /= static_cast<double>(calls);
  }
  return results;
}

} // namespace tail
