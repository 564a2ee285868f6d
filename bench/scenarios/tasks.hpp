// A scope with n spawned closures of 250 us each, chains of dependent multiplications; ns for all.
#pragma once

#include "fib.hpp"

#include <cstddef>

namespace bench {

template<class R>
measurement long_tasks(R& r, std::uint64_t tasks) {
  constexpr std::uint64_t times_10_ns = 25'000;
  warm_up(r);
  measurement m;
  r.run([&] {
    m = timed(1, [&] {
      R::scope(tasks, [](std::size_t) { busy(times_10_ns * busy_steps); });
      return tasks;
    });
  });
  return m;
}

} // namespace bench
