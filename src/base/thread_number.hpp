// A number for each thread, for structures that are split so that threads seldom meet.
#pragma once

#include "rubato/detail/base/atomics.hpp"

namespace rubato::detail {

/// From 1 on, in the order of the first calls.
inline unsigned thread_number() noexcept {
  static constinit relaxed<unsigned> last;
  [[gnu::tls_model("initial-exec")]] static thread_local constinit unsigned mine = 0;
  if (mine == 0) mine = last.add(1) + 1;
  return mine;
}

} // namespace rubato::detail
