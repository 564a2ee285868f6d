// Clocks, and what one measurement says: a process measures once and prints one line of JSON.
#pragma once

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace bench {

inline std::uint64_t read_clock(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}
inline std::uint64_t now_ns() { return read_clock(CLOCK_MONOTONIC); }
/// CPU time of all threads of the process so far.
inline std::uint64_t cpu_ns() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

inline void sleep_ns(std::uint64_t ns) {
  const timespec t{static_cast<time_t>(ns / 1'000'000'000U), static_cast<long>(ns % 1'000'000'000U)};
  nanosleep(&t, nullptr);
}

/// Computes until `ns` nanoseconds have gone by: a leaf that never forks, yields or returns.
inline void compute_for(std::uint64_t ns) {
  for (const std::uint64_t end = now_ns() + ns; now_ns() < end;) {
  }
}

struct measurement {
  double ns = 0;              ///< per unit: the whole run, a node, a join, a loop, as the scenario says
  double cpu_ns = 0;          ///< per unit, all threads together
  std::uint64_t checksum = 0; ///< the same for every contender, or one did not do the work
  std::vector<std::pair<std::string, double>> extra{};
};

/// Times `f` and divides by `units`.
template<class F>
measurement timed(double units, F&& f) {
  const std::uint64_t cpu = cpu_ns();
  const std::uint64_t start = now_ns();
  const std::uint64_t checksum = f();
  const std::uint64_t end = now_ns();
  return {static_cast<double>(end - start) / units, static_cast<double>(cpu_ns() - cpu) / units, checksum};
}

/// The most memory that the process has had. (What getrusage says may be from before exec: its parent's.)
inline long max_rss_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    long kb = 0;
    if (key == "VmHWM:" && status >> kb) return kb;
  }
  return 0;
}

inline void print_json(const char* contender, const std::string& version, const measurement& m) {
  std::printf(
      R"({"contender":"%s","version":"%s","ns":%.4f,"cpu_ns":%.4f,"max_rss_kb":%ld,"checksum":"%llu","extra":{)",
      contender, version.c_str(), m.ns, m.cpu_ns, max_rss_kb(), static_cast<unsigned long long>(m.checksum));
  const char* separator = "";
  for (const auto& [name, value] : m.extra) {
    std::printf(R"(%s"%s":%.4f)", separator, name.c_str(), value);
    separator = ",";
  }
  std::puts("}}");
  std::fflush(stdout);
}

} // namespace bench
