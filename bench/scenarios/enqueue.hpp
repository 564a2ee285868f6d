// Tasks from one thread outside the pool until all have run; ns per task. A task does nothing but count down.
#pragma once

#include "../harness/measure.hpp"

#include <atomic>

namespace bench {

template<class R>
measurement enqueue(R& r, std::uint64_t tasks) {
  // Static: the last task may still be inside notify_one when the thread that waited for it goes on.
  static std::atomic<std::uint64_t> left;
  static std::atomic<std::uint32_t> done;
  auto all = [&r](std::uint64_t n) {
    left.store(n);
    done.store(0);
    for (std::uint64_t i = 0; i != n; ++i)
      r.enqueue([] {
        if (left.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
        done.store(1, std::memory_order_release);
        done.notify_one();
      });
    done.wait(0, std::memory_order_acquire);
    return left.load();
  };
  all(10'000); // starts the threads, fills the allocator's caches
  return timed(static_cast<double>(tasks), [&] { return all(tasks); });
}

} // namespace bench
