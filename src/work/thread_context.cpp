#include "rubato/detail/work/thread_context.hpp"

#include "os/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace rubato::detail {

#if !defined(__clang__)
constinit thread_local thread_context* current = &outside;
#endif

std::int64_t tick_count() noexcept { return os::now(); }
std::int64_t ticks_per_us() noexcept {
  // At least 1, because callers divide by it: a slow counter may tick less often.
  static std::int64_t const n =
      std::max<std::int64_t>(1, os::ticks_from(std::chrono::microseconds(1000)) / 1000);
  return n;
}

} // namespace rubato::detail
