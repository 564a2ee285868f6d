// Two contenders in one process, in turns. bench/executors.py
#pragma once

#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string_view>

namespace bench {

struct arguments {
  std::string_view what;
  unsigned workers;
  std::size_t n;

  arguments(int argc, char** argv) {
    if (argc != 4) {
      std::fprintf(stderr, "usage: %s WHAT WORKERS N\n", argv[0]);
      std::exit(2);
    }
    what = argv[1];
    workers = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
    n = std::strtoul(argv[3], nullptr, 10);
  }
};

/// Items that are left; the last one ends the wait.
class countdown {
  std::atomic<std::size_t> left_;
  std::atomic<bool> over_{false};

public:
  explicit countdown(std::size_t n)
      : left_(n) {}
  void arrive() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    over_.store(true);
    over_.notify_one();
  }
  void wait() const { over_.wait(false); }
};

struct contender {
  char const* name;
  std::function<void()> run;
};

inline double cpu_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  auto const seconds = [](timeval t) { return double(t.tv_sec) + double(t.tv_usec) * 1e-6; };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

/// Runs each once to warm up, then each three times in turns. Prints the shortest time and the CPU time of
/// that run, in ns per item. The other one sleeps meanwhile.
inline void alternate(arguments const& with, contender const& a, contender const& b) {
  struct result {
    double ns = 0, cpu_ns = 0;
  };
  auto const measure = [&](contender const& c, result& best) {
    auto const begin = std::chrono::steady_clock::now();
    double const cpu = cpu_seconds();
    c.run();
    double const items = double(with.n);
    double const ns =
        std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / items;
    if (best.ns != 0 && ns >= best.ns) return;
    best = {ns, (cpu_seconds() - cpu) * 1e9 / items};
  };
  a.run();
  b.run();
  result of_a, of_b;
  for (int round = 0; round != 3; ++round) {
    measure(a, of_a);
    measure(b, of_b);
  }
  std::printf("%s %.1f %.1f\n%s %.1f %.1f\n", a.name, of_a.ns, of_a.cpu_ns, b.name, of_b.ns, of_b.cpu_ns);
}

} // namespace bench
