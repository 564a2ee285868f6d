// What the programs of this entry share: their arguments, and the report that the suite's script reads.
#pragma once

#include "memusage.hpp" // the suite's own, in cpp/2common

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace entry {

/// The arguments of a program: numbers, and last the name of a variant, which may be left out.
class arguments {
  int count_;
  char** values_;

public:
  arguments(int count, char** values) noexcept
      : count_(count)
      , values_(values) {}

  std::size_t number(int place, std::size_t otherwise) const {
    return place < count_ ? static_cast<std::size_t>(std::strtoull(values_[place], nullptr, 10)) : otherwise;
  }
  /// Half the hardware threads, as in the other entries, if the argument is left out.
  unsigned threads(int place) const {
    unsigned const half = std::thread::hardware_concurrency() / 2;
    return static_cast<unsigned>(number(place, half != 0 ? half : 1));
  }
  bool has_variant(int place, std::string_view name) const {
    return place < count_ && values_[place] == name;
  }
};

/// Microseconds that f() takes.
template<class F>
std::uint64_t microseconds(F&& f) {
  auto const begin = std::chrono::steady_clock::now();
  f();
  auto const time = std::chrono::steady_clock::now() - begin;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

/// One field of the only run.
inline void report(char const* field, std::uint64_t value, char const* unit = "") {
  std::printf("    %s: %llu%s\n", field, static_cast<unsigned long long>(value), unit);
}
inline void report_begin(char const* first_field = "iteration_count", std::uint64_t value = 1) {
  std::printf("runs:\n  - %s: %llu\n", first_field, static_cast<unsigned long long>(value));
}
inline void report_time(std::uint64_t time) { report("duration", time, " us"); }
inline void report_memory() { report("max_rss", static_cast<std::uint64_t>(peak_memory_usage()), " KiB"); }

/// Prints what is wrong, and ends the program.
[[noreturn]] inline void fail(char const* what, std::uint64_t expected, std::uint64_t found) {
  std::printf("FAIL: %s: expected %llu, got %llu\n", what, static_cast<unsigned long long>(expected),
              static_cast<unsigned long long>(found));
  std::exit(1);
}
inline void expect(char const* what, std::uint64_t expected, std::uint64_t found) {
  if (expected != found) fail(what, expected, found);
}

} // namespace entry
