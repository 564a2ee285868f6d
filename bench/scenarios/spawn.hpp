// Tasks from one outside thread, each with a result that is asked for; ns per task.
#pragma once

#include "../harness/measure.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace bench {

/// `tasks` futures first, then the result of each.
template<class R>
measurement spawn(R& r, std::uint64_t tasks) {
  using handle = decltype(r.spawn([] { return std::uint64_t{}; }));
  auto all = [&r](std::uint64_t n) {
    std::vector<handle> futures;
    futures.reserve(n);
    for (std::uint64_t i = 0; i != n; ++i) futures.push_back(r.spawn([i] { return i; }));
    std::uint64_t sum = 0;
    for (handle& f : futures) sum += f.get();
    return sum;
  };
  all(10'000); // starts the threads, fills the allocator's caches
  return timed(static_cast<double>(tasks), [&] { return all(tasks); });
}

} // namespace bench
