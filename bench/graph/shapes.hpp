// What the programs of bench/graph.py have in common: the shapes of the graphs, the work, the lines printed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <random>
#include <thread>
#include <vector>

namespace bench {

/// Which systems each one waits for, and which wait for it; how long each one works.
struct shape {
  std::vector<std::vector<std::size_t>> before, after;
  std::vector<double> us;

  /// busy: each works for 5 to 50 us; else not at all.
  shape(std::size_t systems, bool busy)
      : before(systems)
      , after(systems)
      , us(systems) {
    std::mt19937 random(1);
    for (std::size_t i = 1; i != systems; ++i)
      for (std::size_t k = random() % 4; k != 0; --k) {
        std::size_t const d = random() % i;
        if (std::find(before[i].begin(), before[i].end(), d) != before[i].end()) continue;
        before[i].push_back(d);
        after[d].push_back(i);
      }
    for (double& t : us) t = busy ? 5 + static_cast<double>(random() % 46) : 0;
  }
  [[nodiscard]] std::size_t size() const { return before.size(); }
};

/// Computes for so long.
inline void work_for(double us) {
  if (us == 0) return;
  auto const begin = std::chrono::steady_clock::now();
  while (std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() < us) {
  }
}

/// How many frames, and how often one begins: 0: back to back.
struct pace {
  int frames;
  int per_second;
};

/// Prints the milliseconds of all frames, and the median and the 99th percentile of one in microseconds.
template<class Frame>
void measure(char const* name, pace p, Frame frame) {
  using clock = std::chrono::steady_clock;
  frame(); // fills the caches
  std::vector<double> each;
  auto const begin = clock::now();
  for (int i = 0; i != p.frames; ++i) {
    if (p.per_second != 0)
      std::this_thread::sleep_until(begin + i * clock::duration(std::chrono::seconds(1)) / p.per_second);
    auto const start = clock::now();
    frame();
    each.push_back(std::chrono::duration<double, std::micro>(clock::now() - start).count());
  }
  std::chrono::duration<double, std::milli> const took = clock::now() - begin;
  std::sort(each.begin(), each.end());
  std::printf("%s %.2f %.1f %.1f\n", name, took.count(), each[each.size() / 2], each[each.size() * 99 / 100]);
}

/// Prints the nanoseconds per item.
template<class Run>
void measure_items(char const* name, std::size_t items, Run run) {
  run(items / 10 + 1);
  auto const begin = std::chrono::steady_clock::now();
  run(items);
  std::chrono::duration<double, std::nano> const took = std::chrono::steady_clock::now() - begin;
  std::printf("%s %.1f\n", name, took.count() / static_cast<double>(items));
}

/// The arguments of such a program: graph WORKERS SYSTEMS FRAMES empty|busy [FRAMES_PER_SECOND], or items
/// WORKERS ITEMS NS.
template<class Graph, class Items>
int drive(int argc, char** argv, Graph graph, Items items) {
  auto const number = [&](int i) { return static_cast<std::size_t>(std::atoll(argv[i])); };
  try {
    if ((argc == 6 || argc == 7) && std::strcmp(argv[1], "graph") == 0)
      graph(static_cast<unsigned>(number(2)), shape(number(3), std::strcmp(argv[5], "busy") == 0),
            pace{static_cast<int>(number(4)), argc == 7 ? static_cast<int>(number(6)) : 0});
    else if (argc == 5 && std::strcmp(argv[1], "items") == 0)
      items(static_cast<unsigned>(number(2)), number(3), static_cast<double>(number(4)) / 1000);
    else
      return std::fprintf(stderr,
                          "usage: %s graph WORKERS SYSTEMS FRAMES empty|busy [FRAMES_PER_SECOND]\n       %s "
                          "items WORKERS ITEMS NS\n",
                          argv[0], argv[0]),
             2;
    return 0;
  } catch (std::exception const& e) {
    return std::fprintf(stderr, "%s: %s\n", argv[0], e.what()), 1;
  }
}

/// Steps of a chain of dependent multiplications that take so long: the clock is too slow for brief items.
inline unsigned long steps_for(double us) {
  unsigned long volatile sink = 1;
  auto const chain = [&](unsigned long n) {
    unsigned long x = sink;
    for (unsigned long i = 0; i != n; ++i) x = x * 6364136223846793005UL + 1;
    sink = x;
  };
  double best = 1e9;
  for (int i = 0; i != 20; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    chain(100'000);
    best = std::min(
        best, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  return static_cast<unsigned long>(us * 100'000 / best);
}
inline unsigned long take_steps(unsigned long x, unsigned long n) {
  for (unsigned long i = 0; i != n; ++i) x = x * 6364136223846793005UL + 1;
  return x;
}

} // namespace bench
