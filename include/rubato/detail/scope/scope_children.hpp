// How children are added to a scope. docs/design/scopes.md
#pragma once

#include "rubato/detail/coro/coroutine_job.hpp"
#include "rubato/detail/sched/pool_access.hpp"
#include "rubato/detail/scope/scope_core.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Waits on the calling thread as a thread of the scope's pool, then throws the first exception.
void wait_in_scope(scope_core& s);
/// The same, but throws nothing and cannot fail.
void wait_until_ended(scope_core& s) noexcept;

template<class F>
void add_child(scope_core& to, F&& f) {
  if constexpr (!can_be_child<F>())
    return;
  else if constexpr (goes_on<F>)
    member_job<std::decay_t<F>>::start(to, future_state::any_seat, std::forward<F>(f));
  else
    to.spawn(make_child(std::forward<F>(f)));
}

template<class F>
void add_child(scope_core& to, priority p, F&& f) {
  if constexpr (!can_be_child<F>())
    return;
  else if (p == priority::normal)
    add_child(to, std::forward<F>(f));
  else
    member_job<std::decay_t<F>>::start(to, future_state::any_seat, std::forward<F>(f), p);
}

template<class F>
void add_child_on_seat(scope_core& to, unsigned seat, F&& f) {
  std::uint16_t const where = checked_seat(to.core(), seat);
  if constexpr (can_be_child<F>()) member_job<std::decay_t<F>>::start(to, where, std::forward<F>(f));
}

} // namespace rubato::detail
