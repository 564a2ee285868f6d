#include "rubato/detail/sched/thread_context.hpp"

#include "os/clock.hpp"

#include <chrono>

namespace rubato::detail {

#if !defined(__clang__)
constinit thread_local thread_context* current = &outside;
#endif

std::int64_t tick_count() noexcept { return os::now(); }
std::int64_t ticks_per_us() noexcept {
  static std::int64_t const n = os::ticks_from(std::chrono::microseconds(1000)) / 1000;
  return n;
}

} // namespace rubato::detail
