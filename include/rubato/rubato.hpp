// Rubato: one thread pool for a whole program. This header brings all of it; each part has its own.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/algorithm.hpp"         // IWYU pragma: export
#include "rubato/cancelled.hpp"         // IWYU pragma: export
#include "rubato/channel.hpp"           // IWYU pragma: export
#include "rubato/foreign_coroutine.hpp" // IWYU pragma: export
#include "rubato/future.hpp"            // IWYU pragma: export
#include "rubato/generator.hpp"         // IWYU pragma: export
#include "rubato/join.hpp"              // IWYU pragma: export
#include "rubato/per_worker.hpp"        // IWYU pragma: export
#include "rubato/pool.hpp"              // IWYU pragma: export
#include "rubato/pool_options.hpp"      // IWYU pragma: export
#include "rubato/scope.hpp"             // IWYU pragma: export
#include "rubato/select.hpp"            // IWYU pragma: export
#include "rubato/shielded.hpp"          // IWYU pragma: export
#include "rubato/spawn.hpp"             // IWYU pragma: export
#include "rubato/stats.hpp"             // IWYU pragma: export
#include "rubato/strand.hpp"            // IWYU pragma: export
#include "rubato/sync.hpp"              // IWYU pragma: export
#include "rubato/task.hpp"              // IWYU pragma: export
#include "rubato/this_task.hpp"         // IWYU pragma: export
#include "rubato/time.hpp"              // IWYU pragma: export
#include "rubato/timer_handle.hpp"      // IWYU pragma: export
#include "rubato/when.hpp"              // IWYU pragma: export
