// Pools without workers are driven by those who wait for results. Who waits for a result that is made in
// several of them goes where something is queued. docs/design/futures.md
#pragma once

#include "rubato/detail/future_state.hpp"
#include "sync/parker.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rubato::detail {

/// A thread that waits, in a list of the process, so that it can be called to look again.
class on_call {
  friend class call_list;
  on_call* next_ = nullptr; // guarded by the list's lock, as is the next
  on_call* previous_ = nullptr;
  pool_core const* const owner_; // never followed: it may be gone
  parker& bell_;
  bool const roams_;

public:
  /// `owner`: whose work it waits for, if it sleeps outside; it is called when that loses its workers.
  /// `roams`: it is called when something is queued in any pool without.
  on_call(pool_core const* owner, parker& bell, bool roams) noexcept;
  on_call(on_call const&) = delete;
  on_call& operator=(on_call const&) = delete;
  ~on_call();
};

/// Who waits for a result, in a pool or outside.
class rover {
  static constexpr unsigned patience = 64; // tasks
  future_state& result_;
  pool_core const* const here_;
  parker& bell_;
  std::optional<on_call> listed_; // once it may be wanted
  std::uint64_t ran_ = idle;
  unsigned put_off_ = 0;

public:
  static constexpr std::uint64_t idle = ~std::uint64_t{0};

  /// `here`: where it waits; null: outside.
  rover(future_state& result, pool_core const* here, parker& bell) noexcept
      : result_(result)
      , here_(here)
      , bell_(bell) {}

  /// Is something queued in another pool that only those drive who wait, and that the result depends on? Then
  /// it should go there. `ran`: how many tasks it has run so far; as long as it finds some here it looks at
  /// the others now and then. `idle`: it runs none. O(what the result depends on) if there is another such
  /// pool.
  [[nodiscard]] bool is_wanted(std::uint64_t ran) noexcept;
};

/// Is the pool one that only those drive who wait? It may be gone, or null.
[[nodiscard]] bool is_driven_by_waiters(pool_core const* core) noexcept;
/// Such a pool where something is queued.
[[nodiscard]] bool wants_driver(pool_core* core) noexcept;
/// Adds all such pools, but for `own`, where something is made that a result depends on, or itself. They may
/// be gone. O(what it depends on).
void driven_pools_behind(future_state& result, pool_core const* own, std::vector<pool_core*>& all) noexcept;

/// Something is queued in a pool without workers.
void call_rovers() noexcept;
/// Whoever waits for a result looks again where that is made: perhaps in a pool without workers, now.
void work_is_elsewhere() noexcept;

} // namespace rubato::detail
