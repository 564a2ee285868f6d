// The pools of the process: which of them exist, and what fork() leaves of them.
// docs/design/lifecycle.md
#pragma once

#include "base/function_ref.hpp"
#include "work/hazard_guard.hpp"

#include <cstdint>
#include <optional>

namespace rubato::detail {

class pool_core;
class progress_monitor;

/// The first pool starts the monitor. Throws std::system_error.
void add_to_registry(pool_core& core);
void remove_from_registry(pool_core& core) noexcept;

/// Begins a hazard guard if there is such a pool; it may be gone, or null.
[[nodiscard]] bool guard_if_there(pool_core const* core, std::optional<hazard_guard>& here) noexcept;
/// Unique in the process, as an address is not: a new pool may get the address of an old one.
[[nodiscard]] std::uint64_t serial_of(pool_core const& core) noexcept;
/// The same as the first, if it is still the pool with that serial.
[[nodiscard]] bool guard_if_there(pool_core const* core, std::uint64_t serial,
                                  std::optional<hazard_guard>& here) noexcept;
/// Was there such a pool when fork() made this process? Its threads are in the parent.
[[nodiscard]] bool was_left_behind(pool_core const* core) noexcept;

/// Every thread that waits in any pool looks again.
void wake_all_waiters() noexcept;
/// Under the registry's lock, until f returns true. False: it never did.
bool find_pool(function_ref<bool(progress_monitor&)> f) noexcept;

} // namespace rubato::detail
