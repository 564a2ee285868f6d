// In place of Google Benchmark: as much as libfork's programs of the tree search mention, so that they
// compile unchanged inside of ours, which calls their coroutines itself. None of this runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace benchmark {

struct State {
  std::map<std::string, double> counters;
  std::int64_t range(int) const { return 1; }
  int* begin() { return nullptr; }
  int* end() { return nullptr; }
};

namespace internal {

struct Benchmark {
  Benchmark* Arg(std::int64_t) { return this; }
  Benchmark* Apply(void (*)(Benchmark*)) { return this; }
  Benchmark* UseRealTime() { return this; }
};

inline Benchmark* ignored(void (*)(State&, int), int) {
  static Benchmark one;
  return &one;
}

} // namespace internal
} // namespace benchmark

#define RUBATO_JOINED(a, b) a##b
#define RUBATO_NAMED(a, b) RUBATO_JOINED(a, b)
#define BENCHMARK_CAPTURE(function, title, tree)                                                             \
  [[maybe_unused]] static auto* const RUBATO_NAMED(ignored_, __COUNTER__) =                                  \
      benchmark::internal::ignored(function, tree)
