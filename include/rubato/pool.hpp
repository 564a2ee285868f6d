// The pool, and what belongs to it.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/per_worker.hpp"   // IWYU pragma: export
#include "rubato/pool_options.hpp" // IWYU pragma: export
#include "rubato/spawn.hpp"        // IWYU pragma: export
#include "rubato/stats.hpp"        // IWYU pragma: export
#include "rubato/strand.hpp"       // IWYU pragma: export
#include "rubato/thread_pool.hpp"  // IWYU pragma: export
#include "rubato/timer_handle.hpp" // IWYU pragma: export
