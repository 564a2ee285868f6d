// Rubato: one thread pool for a whole program. This header includes all public headers. A page that a header
// names, such as docs/shutdown.md, is in the sources, and beside an installed library in share/doc/rubato.
//
//   #include <rubato/rubato.hpp>
//
//   #include <cstdio>
//
//   rubato::task<int> twice(rubato::future<int> f) {
//     co_return 2 * co_await std::move(f); // holds no thread while it waits
//   }
//
//   int main() {
//     auto [a, b] = rubato::join([] { return 1; }, [] { return 20; });
//     rubato::future<int> sum = rubato::spawn([](int x, int y) { return x + y; }, a, b);
//     std::printf("%d\n", rubato::block_on(twice(std::move(sum)))); // -> 42
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

// Included first: a compiler's message about a misuse names the includes through which it reached a header
// for the first time.
#include "rubato/thread_pool.hpp" // IWYU pragma: export

#include "rubato/join.hpp" // IWYU pragma: export

#include "rubato/algorithm.hpp"         // IWYU pragma: export
#include "rubato/async_pipeline.hpp"    // IWYU pragma: export
#include "rubato/broadcast_channel.hpp" // IWYU pragma: export
#include "rubato/buffered.hpp"          // IWYU pragma: export
#include "rubato/cancelled.hpp"         // IWYU pragma: export
#include "rubato/channel.hpp"           // IWYU pragma: export
#include "rubato/dump.hpp"              // IWYU pragma: export
#include "rubato/foreign_coroutine.hpp" // IWYU pragma: export
#include "rubato/future.hpp"            // IWYU pragma: export
#include "rubato/generator.hpp"         // IWYU pragma: export
#include "rubato/hedge_policy.hpp"      // IWYU pragma: export
#include "rubato/io.hpp"                // IWYU pragma: export
#include "rubato/live.hpp"              // IWYU pragma: export
#include "rubato/per_worker.hpp"        // IWYU pragma: export
#include "rubato/pipeline.hpp"          // IWYU pragma: export
#include "rubato/pool.hpp"              // IWYU pragma: export
#include "rubato/pool_options.hpp"      // IWYU pragma: export
#include "rubato/priority.hpp"          // IWYU pragma: export
#include "rubato/race.hpp"              // IWYU pragma: export
#include "rubato/routine.hpp"           // IWYU pragma: export
#include "rubato/scope.hpp"             // IWYU pragma: export
#include "rubato/select.hpp"            // IWYU pragma: export
#include "rubato/shielded.hpp"          // IWYU pragma: export
#include "rubato/spawn.hpp"             // IWYU pragma: export
#include "rubato/stats.hpp"             // IWYU pragma: export
#include "rubato/strand.hpp"            // IWYU pragma: export
#include "rubato/sync.hpp"              // IWYU pragma: export
#include "rubato/task.hpp"              // IWYU pragma: export
#include "rubato/task_graph.hpp"        // IWYU pragma: export
#include "rubato/this_task.hpp"         // IWYU pragma: export
#include "rubato/time.hpp"              // IWYU pragma: export
#include "rubato/timer_handle.hpp"      // IWYU pragma: export
#include "rubato/trace.hpp"             // IWYU pragma: export
#include "rubato/version.hpp"           // IWYU pragma: export
#include "rubato/watch.hpp"             // IWYU pragma: export
#include "rubato/when.hpp"              // IWYU pragma: export
