// What a million of something take, by the process's resident memory; bytes each, in the place of the ns.
#pragma once

#include "../harness/measure.hpp"

#include <cstddef>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include <unistd.h>

namespace bench {

inline std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Room for n of them that is resident already and so is not counted.
template<class T>
std::vector<T> touched(std::uint64_t n) {
  std::vector<T> v;
  v.reserve(n);
  std::memset(static_cast<void*>(v.data()), 0, n * sizeof(T)); // no object is there yet
  return v;
}

/// A promise and its future, whose value is not there. sizeof(promise) and sizeof(future) are not counted.
template<class R>
measurement promise_memory(std::uint64_t n) {
  using promise = typename R::promise;
  auto promises = touched<promise>(n);
  auto futures = touched<decltype(std::declval<promise&>().get_future())>(n);
  const std::uint64_t before = resident_bytes();
  for (std::uint64_t i = 0; i != n; ++i) {
    promises.emplace_back();
    futures.push_back(promises.back().get_future());
  }
  const auto each = static_cast<double>(resident_bytes() - before) / static_cast<double>(n);
  return {each, 0, n, {}};
}

} // namespace bench
