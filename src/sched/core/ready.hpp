// Is there anything in a pool that a thread could run? Each question costs O(threads + seats) and takes
// nothing.
#pragma once

#include "rubato/detail/work/pool_port.hpp"

namespace rubato::detail {

/// A child of a scope that has not begun.
[[nodiscard]] bool any_child(pool_core const& core) noexcept;
/// A job in the chain of another thread than `but`.
[[nodiscard]] bool any_chain(pool_core const& core, pool_thread const* but) noexcept;
/// A child, a task in a LIFO slot, or a job in a chain. `but`: the chain of this thread does not count.
[[nodiscard]] bool any_latent(pool_core const& core, pool_thread const* but = nullptr) noexcept;
/// What any thread may run at once: a task, or a child that has not begun.
[[nodiscard]] bool has_ready(pool_core const& core) noexcept;

} // namespace rubato::detail
