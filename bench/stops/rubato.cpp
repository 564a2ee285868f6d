// bench-stops N REQUESTS: what stop requests in another pool cost coroutines that fork. fib(N) by coroutines
// on all CPUs but one, alone and beside a thread that opens a scope in a pool of its own, and stops it, so
// many times a second. The two alternate. Prints three lines: "alone" and "beside" with the median time of
// fib(N), ms, "ratio" with beside over alone; "beside" also has the requests per second that were made.
#include <rubato/rubato.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

rubato::task<std::uint64_t> fib(unsigned n) {
  if (n < 2) co_return n;
  auto [a, b] = co_await rubato::when_all(fib(n - 1), fib(n - 2));
  co_return a + b;
}

/// Requests stops in a pool of its own until it is destroyed. It never sleeps: a timer is too coarse.
class requests {
  std::atomic<std::uint64_t> made_{0};
  std::jthread thread_;

public:
  explicit requests(double per_second)
      : thread_([this, per_second](std::stop_token const& end) {
        rubato::pool pool(1);
        pool.run([&] {
          auto const pause = std::chrono::duration<double>(1 / per_second);
          for (auto next = clock_type::now(); !end.stop_requested();
               next += std::chrono::duration_cast<clock_type::duration>(pause)) {
            while (clock_type::now() < next) {
            }
            rubato::with_scope([](rubato::scope& s) { s.request_stop(); });
            made_.fetch_add(1, std::memory_order_relaxed);
          }
        });
      }) {}
  std::uint64_t made() const { return made_.load(std::memory_order_relaxed); }
};

double milliseconds_of(rubato::pool& pool, unsigned n) {
  auto const begin = clock_type::now();
  pool.block_on(fib(n));
  return std::chrono::duration<double, std::milli>(clock_type::now() - begin).count();
}

double median(std::vector<double>& all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

} // namespace

int main(int argc, char** argv) {
  unsigned const n = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 32;
  double const per_second = argc > 2 ? std::atof(argv[2]) : 1e5;
  rubato::pool pool(std::max(2U, std::thread::hardware_concurrency()) - 1);
  std::vector<double> alone, beside, rates;
  milliseconds_of(pool, n); // warms up
  for (int i = 0; i != 7; ++i) {
    alone.push_back(milliseconds_of(pool, n));
    requests stops(per_second);
    while (stops.made() == 0) std::this_thread::yield();
    auto const before = stops.made();
    beside.push_back(milliseconds_of(pool, n));
    rates.push_back(static_cast<double>(stops.made() - before) * 1000 / beside.back());
  }
  double const a = median(alone), b = median(beside);
  std::printf("alone %g\nbeside %g %.0f\nratio %.3f\n", a, b, median(rates), b / a);
}
