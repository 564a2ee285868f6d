// A pool that has worked and has nothing left to do: CPU time and context switches of all its threads.
#pragma once

#include "enqueue.hpp"
#include "fib.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <unistd.h>

namespace bench {

/// Context switches so far of every thread but the caller's, by thread.
inline std::map<std::string, std::uint64_t> context_switches() {
  std::map<std::string, std::uint64_t> switches;
  const std::string own = std::to_string(getpid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    const std::string id = task.path().filename();
    if (id == own) continue;
    std::ifstream status(task.path() / "status");
    for (std::string key; status >> key;) {
      std::uint64_t n = 0;
      if (key.find("voluntary_ctxt_switches:") != std::string::npos && status >> n) switches[id] += n;
    }
  }
  return switches;
}

template<class R>
measurement idle(R& r, std::uint64_t milliseconds) {
  if constexpr (requires { warm_up(r); })
    warm_up(r);
  else
    enqueue(r, 10'000);
  sleep_ns(3'000'000); // 2 ms to come to rest, and the slack of the timers that see to it
  const auto before = context_switches();
  const std::uint64_t cpu = cpu_ns();
  sleep_ns(milliseconds * 1'000'000);
  const auto used = static_cast<double>(cpu_ns() - cpu);
  std::uint64_t woken = 0;
  for (const auto& [id, n] : context_switches()) {
    const auto old = before.find(id);
    woken += n - (old == before.end() ? 0 : old->second);
  }
  return {used, used, 0, {{"switches", static_cast<double>(woken)}}};
}

} // namespace bench
