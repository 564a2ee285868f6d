// Tasks that are children of what runs here: they stop with it, and it waits for them. A part of task.hpp.
// docs/design/coroutines.md
#pragma once

#include "rubato/detail/continuation.hpp"
#include "rubato/detail/coroutine_job.hpp"
#include "rubato/detail/pool_access.hpp"

#include <cstdint>
#include <utility>

namespace rubato::detail {

/// `around`: what it stops with; null for nothing.
template<class T>
class child_job final : link_holder, public coroutine_job<task_holder<T>> {
public:
  child_job(stop_scope* around, rubato::task<T>&& t)
      : link_holder(around)
      , coroutine_job<task_holder<T>>(link, 2U, std::move(t)) {}
  void dispose() noexcept override { dispose_state(this); }
};

template<class T>
[[nodiscard]] future<T> start_child(pool_core& c, std::uint16_t seat, stop_scope* around,
                                    rubato::task<T>&& t) {
  auto* const made = make_state<child_job<T>>(around, std::move(t));
  future<T> out = future_access::make<T>(state_ref(made));
  made->seat = seat;
  spawn_state(c, *made);
  return out;
}

/// On any pool; stops with what the calling thread runs.
template<class T>
T run_task_on(pool_core& c, rubato::task<T>&& t) {
  auto* const around = static_cast<stop_scope*>(current->chain.token());
  return get_to_end(start_child(c, future_state::any_seat, around, std::move(t)));
}

template<class T>
T run_task(member& me, rubato::task<T>&& t) {
  return run_task_on(me.core != nullptr ? *me.core : *some_core(), std::move(t));
}

} // namespace rubato::detail
