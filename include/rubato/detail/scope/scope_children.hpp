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
  using type = std::decay_t<F>;
  if constexpr (!can_be_child<F>()) {
    return;
  } else if constexpr (is_task<type>::value) {
    member_job<task_holder<typename type::value_type>>::start(to, future_state::any_seat, std::forward<F>(f));
  } else {
    using flat = flattened<call_result_t<type>>;
    if constexpr (flat::is_task || flat::is_future)
      member_job<type>::start(to, future_state::any_seat, std::forward<F>(f));
    else
      to.spawn(make_child(std::forward<F>(f)));
  }
}

template<class F>
void add_child(scope_core& to, priority p, F&& f) {
  using type = std::decay_t<F>;
  if constexpr (!can_be_child<F>()) {
    return;
  } else if (p == priority::normal) {
    add_child(to, std::forward<F>(f));
  } else if constexpr (is_task<type>::value) {
    member_job<task_holder<typename type::value_type>>::start(to, future_state::any_seat, std::forward<F>(f),
                                                              p);
  } else {
    member_job<type>::start(to, future_state::any_seat, std::forward<F>(f), p);
  }
}

template<class F>
void add_child_on_seat(scope_core& to, unsigned seat, F&& f) {
  using type = std::decay_t<F>;
  std::uint16_t const where = checked_seat(to.core(), seat);
  if constexpr (!can_be_child<F>())
    return;
  else if constexpr (is_task<type>::value)
    member_job<task_holder<typename type::value_type>>::start(to, where, std::forward<F>(f));
  else
    member_job<type>::start(to, where, std::forward<F>(f));
}

} // namespace rubato::detail
