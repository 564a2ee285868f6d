// The pools of the process: which of them exist, and what fork() leaves of them.
// docs/design/lifecycle.md
#pragma once

#include "base/function_ref.hpp"
#include "rubato/detail/base/intrusive_list.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "work/hazard_guard.hpp"

#include <cstdint>
#include <optional>

namespace rubato::detail {

class pool_core;

/// A pool's entry.
class registered_pool : public list_node<registered_pool> {
  friend class pool_registry;
  pool_core& core_;
  bool listed_ = false;

public:
  /// Unique in the process, as an address is not: a new pool may get the address of an old one.
  std::uint64_t const serial;

  explicit registered_pool(pool_core& core) noexcept;
  registered_pool(registered_pool const&) = delete;
  ~registered_pool() = default;
};

/// Never destroyed: pools with static storage end after everything else.
class pool_registry {
  mutex guard_;
  intrusive_list<registered_pool> pools_ RUBATO_GUARDED_BY(guard_);
  intrusive_list<registered_pool> behind_ RUBATO_GUARDED_BY(guard_); // left in the parent; never destroyed

  [[nodiscard]] static registered_pool* find_in(intrusive_list<registered_pool> const& pools,
                                                pool_core const* core) noexcept;

public:
  /// `prepare` is called first, under the lock; what it throws is passed on.
  void add(registered_pool& p, function_ref<void()> prepare);
  /// Nothing, if it was not added.
  void remove(registered_pool& p) noexcept;
  [[nodiscard]] bool guard_if_there(pool_core const* core, std::optional<hazard_guard>& here,
                                    std::uint64_t const* serial) noexcept;
  [[nodiscard]] bool was_left_behind(pool_core const* core) noexcept;
  [[nodiscard]] bool find(function_ref<bool(pool_core&)> f) noexcept;

  void lock() noexcept RUBATO_ACQUIRE(guard_) { guard_.lock(); }
  void unlock() noexcept RUBATO_RELEASE(guard_) { guard_.unlock(); }
  /// In the child after fork(), for each pool of the parent.
  void leave_all_behind(function_ref<void(pool_core&)> abandon) noexcept RUBATO_REQUIRES(guard_);
};

inline constinit pool_registry pools_of_process;

/// Begins a hazard guard if there is such a pool; it may be gone, or null.
[[nodiscard]] bool guard_if_there(pool_core const* core, std::optional<hazard_guard>& here) noexcept;
/// The same, if it is still the pool with that serial.
[[nodiscard]] bool guard_if_there(pool_core const* core, std::uint64_t serial,
                                  std::optional<hazard_guard>& here) noexcept;
/// Was there such a pool when fork() made this process? Its threads are in the parent.
[[nodiscard]] bool was_left_behind(pool_core const* core) noexcept;

/// Every thread that waits in any pool looks again.
void unpark_all_waiters() noexcept;
/// Under the registry's lock, until f returns true. False: it never did.
bool find_pool(function_ref<bool(pool_core&)> f) noexcept;

} // namespace rubato::detail
