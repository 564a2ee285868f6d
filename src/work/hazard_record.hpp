// What a thread from outside announces about the pools that it touches. Part of its thread, and without a
// destructor: it can be used until the very end.
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "sync/arrivals.hpp"

#include <array>

namespace rubato::detail {

class pool_core;

struct hazard_record : list_node<hazard_record> {
  static constexpr unsigned deepest = 6;
  std::array<published<pool_core const*>, deepest> guarded{};
  unsigned depth = 0;
  bool listed = false;
  bool ending = false; ///< past the end of its thread's thread-local objects: it is listed for each use alone
  bool asymmetric = true; ///< heavy_barrier() works
  basic_arrivals<std_policy> arrivals;

  /// Before its first use in its thread.
  [[gnu::cold, gnu::noinline]] void list() noexcept;
  void unlist() noexcept;

  [[gnu::always_inline]] void guard(pool_core const& core) noexcept {
    if (!listed) [[unlikely]]
      list();
    if (depth == deepest) [[unlikely]]
      die_of_depth();
    // A thread that waits for this guard has seen something that this thread does under it, and so sees this.
    guarded[depth++].publish(&core);
  }
  [[gnu::always_inline]] void unguard() noexcept {
    guarded[--depth].publish(nullptr); // after the last touch of the pool, which may be freed now
    if (ending && depth == 0 && arrivals.is_empty()) [[unlikely]]
      unlist();
  }
  [[gnu::always_inline]] void begin_arrival(pool_core const& core) noexcept {
    if (!listed) [[unlikely]]
      list();
    if (arrivals.is_full()) [[unlikely]]
      die_of_depth();
    arrivals.begin(&core, asymmetric);
  }
  /// Under a guard.
  [[gnu::always_inline]] void end_arrival() noexcept { arrivals.end(asymmetric); }

private:
  [[noreturn, gnu::cold, gnu::noinline]] static void die_of_depth() noexcept;
};

// NOLINTNEXTLINE(misc-use-internal-linkage)
[[gnu::tls_model("initial-exec")]] extern constinit thread_local hazard_record own_hazards;

} // namespace rubato::detail
