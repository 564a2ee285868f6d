// bench-priorities SCENARIO WORKERS SIZE: what a priority changes. Prints a line per contender: its name and
// its figures. bench/priorities.py
#include <rubato/rubato.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
using rubato::priority;
using std::chrono::microseconds;

constexpr auto job_length = microseconds(200);

double milliseconds_since(clock_type::time_point t) {
  return std::chrono::duration<double, std::milli>(clock_type::now() - t).count();
}

/// Computes for so long. By the clock: a job that the system puts aside is not longer.
void compute(clock_type::duration d) {
  auto const end = clock_type::now() + d;
  while (clock_type::now() < end) {
  }
}

double quantile(std::vector<double>& v, double q) {
  std::sort(v.begin(), v.end());
  return v[std::min(v.size() - 1, static_cast<std::size_t>(static_cast<double>(v.size()) * q))];
}

/// A task is queued by a thread from outside while 1,000 jobs of 200 us are queued: microseconds until it
/// begins, p50, p99 and the longest.
void behind(unsigned workers, std::size_t samples, priority c, char const* contender) {
  constexpr std::size_t jobs = 1'000;
  rubato::pool pool(workers);
  std::vector<double> waited;
  waited.reserve(samples);
  std::atomic<std::size_t> queued{0};
  for (std::size_t i = 0; i != samples; ++i) {
    for (; queued < jobs; ++queued)
      pool.enqueue([&] {
        queued.fetch_sub(1);
        compute(job_length);
      });
    std::atomic<bool> began{false};
    double took = 0;
    auto const begin = clock_type::now();
    pool.enqueue(c, [&] {
      took = milliseconds_since(begin) * 1000;
      began.store(true, std::memory_order_release);
      began.notify_one();
    });
    began.wait(false, std::memory_order_acquire);
    waited.push_back(took);
    // At any moment of a job, not always at its end.
    std::this_thread::sleep_for(microseconds(37 * (i % 23)));
  }
  double const p50 = quantile(waited, 0.5), p99 = quantile(waited, 0.99);
  std::printf("%s %.0f %.0f %.0f\n", contender, p50, p99, waited.back());
  pool.shutdown(rubato::discard);
}

/// Normal jobs that each queue the next one, without end, for two seconds; beside them `low` low jobs of the
/// same length at once. Normal jobs per second; low jobs per second and the longest wait of one in
/// milliseconds.
void beside(unsigned workers, std::size_t low, char const* contender) {
  rubato::pool pool(workers);
  std::atomic<bool> end{false};
  std::atomic<std::size_t> done{0}, low_done{0};
  std::atomic<double> longest{0};
  struct chain {
    rubato::pool& pool;
    std::atomic<bool>& end;
    std::atomic<std::size_t>& done;
    void operator()() const {
      compute(job_length);
      done.fetch_add(1, std::memory_order_relaxed);
      if (!end) pool.enqueue(chain(*this));
    }
  };
  for (unsigned i = 0; i != 8 * workers; ++i) pool.enqueue(chain{pool, end, done});
  std::this_thread::sleep_for(std::chrono::milliseconds(200)); // all workers are busy
  auto const begin = clock_type::now();
  std::size_t const before = done;
  for (std::size_t i = 0; i != low; ++i)
    pool.enqueue(priority::low, [&, begin] {
      double const waited = milliseconds_since(begin);
      double seen = longest;
      while (waited > seen && !longest.compare_exchange_weak(seen, waited)) {
      }
      low_done.fetch_add(1);
      compute(job_length);
    });
  std::this_thread::sleep_for(std::chrono::seconds(2));
  double const seconds = milliseconds_since(begin) / 1000;
  std::printf("%s %.0f %.0f %.0f\n", contender, static_cast<double>(done - before) / seconds,
              static_cast<double>(low_done) / seconds, longest.load());
  end = true;
  pool.shutdown(rubato::discard);
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: bench-priorities SCENARIO WORKERS SIZE\n", stderr);
    return 2;
  }
  try {
    std::string_view const what = argv[1];
    auto const workers = static_cast<unsigned>(std::atoi(argv[2]));
    std::size_t const size = std::strtoull(argv[3], nullptr, 10);
    if (what == "behind") {
      behind(workers, size, priority::high, "high");
    } else if (what == "behind-normal") {
      behind(workers, size, priority::normal, "normal");
    } else if (what == "beside") {
      beside(workers, 0, "alone");
      beside(workers, size, "with-low");
    } else {
      return 3;
    }
  } catch (std::exception const& e) {
    std::fprintf(stderr, "bench-priorities: %s\n", e.what());
    return 1;
  }
}
