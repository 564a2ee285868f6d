// The threads of this process, as the kernel tells.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace rubato_test {

inline std::set<int> thread_ids() {
  std::set<int> ids;
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    ids.insert(std::stoi(entry.path().filename().string()));
  }
  return ids;
}

/// How often each thread, those in `except` aside, went to sleep or was put aside. A thread that sleeps has
/// no switches.
inline std::map<int, std::uint64_t> context_switches(std::set<int> const& except = {}) {
  std::map<int, std::uint64_t> switches;
  for (int const id : thread_ids()) {
    if (except.contains(id)) continue;
    std::ifstream status("/proc/self/task/" + std::to_string(id) + "/status");
    std::uint64_t sum = 0;
    for (std::string line; std::getline(status, line);) {
      if (auto const at = line.find("ctxt_switches:"); at != std::string::npos) {
        sum += std::stoull(line.substr(at + std::string("ctxt_switches:").size()));
      }
    }
    switches.emplace(id, sum);
  }
  return switches;
}

/// True if there is a time of two seconds in which none of the threads, except those given, was switched.
/// There are some attempts, because falling asleep takes a while on a busy machine; shorter times come first,
/// so that it is not the first attempt that it takes. A thread that naps by the clock fails each of them.
inline bool become_quiet(std::set<int> const& except) {
  std::chrono::milliseconds const shorter{50};
  for (int look = 0; look < 40; ++look) {
    auto const before = context_switches(except);
    std::this_thread::sleep_for(shorter);
    if (before == context_switches(except)) break;
  }
  for (int attempt = 0; attempt < 8; ++attempt) {
    auto const before = context_switches(except);
    std::this_thread::sleep_for(std::chrono::seconds(2));
    auto const after = context_switches(except);
    if (before == after) return true;
    for (auto const& [id, count] : after) {
      auto const it = before.find(id);
      std::uint64_t const old = it != before.end() ? it->second : 0;
      if (count != old)
        std::fprintf(stderr, "thread %d: %ju switches in 2 s\n", id, std::uintmax_t{count - old});
    }
  }
  return false;
}

/// The threads that exist before any pool does, those included that a sanitizer starts with the first thread.
inline std::set<int> threads_that_are_not_the_pools() {
  std::thread([] {}).join();
  return thread_ids();
}

inline std::string name_of_this_thread() {
  std::array<char, 64> name{};
  pthread_getname_np(pthread_self(), name.data(), name.size());
  return name.data();
}

inline std::string name_of_thread(int id) {
  std::ifstream comm("/proc/self/task/" + std::to_string(id) + "/comm");
  std::string name;
  std::getline(comm, name);
  return name;
}

/// The CPUs that a thread may use.
inline std::set<int> cpus_of_thread(int id) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(id, sizeof mask, &mask);
  std::set<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask)) cpus.insert(cpu);
  }
  return cpus;
}
inline std::set<int> cpus_of_this_thread() { return cpus_of_thread(0); }

inline bool restrict_this_thread_to(int cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  return sched_setaffinity(0, sizeof mask, &mask) == 0;
}

} // namespace rubato_test
