#include "rubato/detail/base/worker_count.hpp"

#include <stdexcept>

namespace rubato::detail {

unsigned at_least_one_worker(unsigned n) {
  if (n == 0)
    throw std::invalid_argument("rubato: a pool of 0 workers; a pool whose tasks are run by the threads that "
                                "wait for them is made with rubato::no_workers");
  return n;
}

} // namespace rubato::detail
