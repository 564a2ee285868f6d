// One thread per process that never runs user code: it looks where nobody else can. docs/design/watch.md
#pragma once

#include "work/visit.hpp"

#include <atomic>
#include <optional>

namespace rubato::detail {

class pool_core;
struct pool_thread;

/// How deep the watch sleeps: not at all or for less than a millisecond; for 10 ms, because tasks are ready
/// behind busy workers; without a timeout. The whole handshake is in watch.cpp.
enum class watch_rest : unsigned char { awake, dozing, asleep };
inline constinit std::atomic<watch_rest> watch_state_now{watch_rest::asleep};

void wake_watch() noexcept;

/// After an event that may want the watch's attention, if it sleeps at least as deep as `depth`. asleep: work
/// was queued. dozing: somebody is busy while somebody sleeps, or waits for what nobody may bring. One load
/// otherwise.
inline void nudge_watch(watch_rest depth = watch_rest::asleep) noexcept {
  // seq_cst: pairs with the watch's announcement that it will sleep, after which it looks at every pool
  // again.
  if (watch_state_now.load(std::memory_order_seq_cst) >= depth) wake_watch();
}

/// The watch looks at registered pools only. The first starts its thread. Throws std::system_error.
void watch_pool(pool_core& core);
void unwatch_pool(pool_core& core) noexcept;

/// Would a thread that the caller makes be scheduled as one that the watch makes?
[[nodiscard]] bool schedules_like_watch() noexcept;
/// The watch calls t.core->make_now(t), soon. Never waited for under a lock that the watch may want.
void make_on_watch(pool_thread& t) noexcept;

/// Every thread that waits in any pool looks again.
void wake_all_waiters() noexcept;
/// Begins a visit if there is such a pool; it may be gone, or null.
[[nodiscard]] bool visit_if_there(pool_core const* core, std::optional<visit>& here) noexcept;
/// Was there such a pool when fork() made this process? Its threads are in the parent.
[[nodiscard]] bool was_left_behind(pool_core const* core) noexcept;

} // namespace rubato::detail
