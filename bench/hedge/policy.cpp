// bench-hedge-policy [ROUNDS]: what a call pays for its hedge_policy, in CPU time, beside one clock read and
// beside a histogram of the same buckets behind a std::mutex. Rounds are interleaved. Prints medians, minima
// and maxima as a table.
#include "../harness/measure.hpp"

#include <rubato/hedge_policy.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using std::chrono::nanoseconds;

/// Durations as a service has them: 1.3 ms, a twentieth of them up to 20 ms longer. Cheap to make.
class durations {
  std::uint64_t state_;

public:
  explicit durations(std::uint64_t seed)
      : state_(seed * 2 + 1) {}
  nanoseconds next() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    std::uint64_t const drawn = state_ >> 32;
    return nanoseconds(1'300'000 + drawn % 65'536 + (drawn % 20 == 0 ? drawn % 20'000'000 : 0));
  }
};

/// The plain way.
class locked_histogram {
  std::mutex lock_;
  std::array<std::uint64_t, 2'048> counts_{};

public:
  void record(nanoseconds duration) {
    auto const value = static_cast<std::uint64_t>(duration.count());
    int const shift = std::max(0, static_cast<int>(std::bit_width(value)) - 6);
    std::lock_guard const guard(lock_);
    ++counts_[static_cast<std::size_t>(shift) * 32 + (value >> shift)];
  }
};

/// CPU nanoseconds per call, when so many threads call f(duration) at once.
template<class F>
double measure(unsigned threads, std::uint64_t calls, F f) {
  std::latch ready(threads + 1);
  std::vector<double> spent(threads);
  std::vector<std::jthread> all;
  for (unsigned t = 0; t != threads; ++t)
    all.emplace_back([&, t] {
      durations some(t);
      ready.arrive_and_wait();
      std::uint64_t const start = bench::read_clock(CLOCK_THREAD_CPUTIME_ID);
      for (std::uint64_t i = 0; i != calls; ++i) f(some.next());
      spent[t] = static_cast<double>(bench::read_clock(CLOCK_THREAD_CPUTIME_ID) - start);
    });
  ready.arrive_and_wait();
  all.clear();
  double sum = 0;
  for (double const s : spent) sum += s;
  return sum / static_cast<double>(calls * threads);
}

struct row {
  char const* what;
  unsigned threads;
  std::vector<double> ns{};
};

} // namespace

int main(int argc, char** argv) {
  int const rounds = argc > 1 ? std::atoi(argv[1]) : 7;
  constexpr std::uint64_t calls = 2'000'000;
  std::vector<row> rows;
  for (unsigned const threads : {1U, 2U, 4U})
    for (char const* what : {"nothing (the loop)", "one read of the clock", "threshold() and record()",
                             "the same, and try_hedge() for what is late", "a histogram behind a std::mutex"})
      rows.push_back({what, threads});
  volatile bool sink = false;
  for (int round = 0; round != rounds; ++round) {
    for (std::size_t k = 0; k != rows.size(); ++k) {
      row& r = rows[(k + static_cast<std::size_t>(round)) % rows.size()];
      rubato::hedge_policy policy;
      locked_histogram plain;
      auto const call = [&](nanoseconds d) {
        auto const late = policy.threshold();
        policy.record(d);
        return late && d > *late;
      };
      double ns = 0;
      switch ((&r - rows.data()) % 5) {
      case 0:
        ns = measure(r.threads, calls, [&](nanoseconds d) { sink = d > nanoseconds(1'400'000); });
        break;
      case 1:
        ns = measure(r.threads, calls, [&](nanoseconds) { sink = bench::now_ns() % 2 == 0; });
        break;
      case 2:
        ns = measure(r.threads, calls, [&](nanoseconds d) { sink = call(d); });
        break;
      case 3:
        ns = measure(r.threads, calls, [&](nanoseconds d) { sink = call(d) && policy.try_hedge(); });
        break;
      default:
        ns = measure(r.threads, calls, [&](nanoseconds d) { plain.record(d); });
      }
      r.ns.push_back(ns);
    }
  }
  std::printf("| per call | threads | CPU ns: median (minimum-maximum) |\n|---|---|---|\n");
  for (row& r : rows) {
    std::sort(r.ns.begin(), r.ns.end());
    std::printf("| %s | %u | %.1f (%.1f-%.1f) |\n", r.what, r.threads, r.ns[r.ns.size() / 2], r.ns.front(),
                r.ns.back());
  }
}
