// Pools for tests that run with several numbers of workers, none included.
#pragma once

#include <rubato/pool_options.hpp>

namespace rubato_test {

/// The options of a pool of `workers`; 0: of a pool without workers.
[[nodiscard]] inline rubato::pool_options with_workers(unsigned workers) {
  rubato::pool_options options;
  return workers == 0 ? options.workers(rubato::no_workers) : options.workers(workers);
}

} // namespace rubato_test
