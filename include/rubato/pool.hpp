// The pool, its options, counters, timers, strands and per-thread objects.
//
//   #include <rubato/pool.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     rubato::pool pool(2);
//     rubato::future<int> product = pool.spawn([](int a, int b) { return a * b; }, 6, 7);
//     std::printf("%d\n", product.get()); // -> 42
//     pool.enqueue([] { std::puts("in the background"); }); // -> in the background
//   } // the destructor runs queued tasks
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/per_worker.hpp"   // IWYU pragma: export
#include "rubato/pool_options.hpp" // IWYU pragma: export
#include "rubato/priority.hpp"     // IWYU pragma: export
#include "rubato/spawn.hpp"        // IWYU pragma: export
#include "rubato/stats.hpp"        // IWYU pragma: export
#include "rubato/strand.hpp"       // IWYU pragma: export
#include "rubato/thread_pool.hpp"  // IWYU pragma: export
#include "rubato/timer_handle.hpp" // IWYU pragma: export
