#pragma once

#include <rubato/pool_options.hpp>

namespace example {

/// Options with so many workers; 0: none, so that the waiting thread runs the tasks.
inline rubato::pool_options with_workers(unsigned n) {
  rubato::pool_options options;
  return n == 0 ? options.workers(rubato::no_workers) : options.workers(n);
}

} // namespace example
