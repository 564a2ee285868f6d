#include "rubato/detail/work/thread_context.hpp"

#include "os/clock.hpp"
#include "rubato/detail/base/stop_scope.hpp"
#include "sched/life/lifecycle.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace rubato::detail {

#if !defined(__clang__)
constinit thread_local thread_context* current = &outside;
#endif

std::stop_token current_token(thread_context& me) {
  if (me.core == nullptr) return {}; // blocking() outside any pool
  auto const* const s = static_cast<stop_scope const*>(me.chain.token());
  std::stop_token const outermost = life_of(*me.core).stop_token();
  return s != nullptr ? s->token(outermost) : outermost;
}

std::int64_t tick_count() noexcept { return os::now(); }
std::int64_t ticks_per_us() noexcept {
  // At least 1, because callers divide by it: a slow counter may tick less often.
  static std::int64_t const n =
      std::max<std::int64_t>(1, os::ticks_from(std::chrono::microseconds(1000)) / 1000);
  return n;
}

} // namespace rubato::detail
