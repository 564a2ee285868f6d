// How futures are made: by then() and by spawn(). A part of future.hpp.
#pragma once

#include "rubato/detail/sched/wait/arrival.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/future.hpp"

#include <cstdint>

namespace rubato {

template<class T>
template<class... U>
void promise<T>::set(U&&... value) {
  detail::future_state& s = to_set();
  try {
    detail::result_of<T>(s).emplace(std::forward<U>(value)...);
  } catch (...) {
    set_ = false;
    throw;
  }
  s.complete();
}

namespace detail {

template<class T>
T get_to_end(future<T> f) {
  if (f.valid()) await_end(*future_access::state(f).get(), "get");
  return f.get();
}

template<class F>
void future_job<F>::resume(thread_context& runner) noexcept {
  future<result> made;
  std::exception_ptr error;
  if (this->stop.stop_requested()) {
    this->skipped();
    error = cancelled_error();
  } else {
    token_in_force const token(runner.chain, &this->stop);
    try {
      made = call_with_token(runner, std::move(f_.get()));
      if (!made.valid()) throw_no_state("rubato: a task has returned a future that has no state");
    } catch (...) {
      error = std::current_exception();
    }
  }
  if (!made.valid()) { // the callable has thrown, or returned an invalid future
    this->fail(std::move(error));
    f_.reset();
    this->complete();
    return;
  }
  state_ref const inner = std::move(future_access::state(made));
  this->hold(); // once the relay is added, this may end
  state_ref const held(this);
  bool const listens = this->stop.add(*this);
  bool waits = false;
  {
    lock_guard const guard(mutex_);
    inner_ = inner;
    waits = inner->waiters.add(relay_);
  }
  if (waits) {
    // A thread that requested the stop before the line above found no inner future.
    if (listens && this->stop.requested_here() != stop_level::stopped) return;
    inner->cancel();
    leave(*inner.get());
    return;
  }
  take_over();
  this->complete();
}

template<class T, class Future, class F>
auto attach(state_ref source, pool* where, F&& f) {
  if constexpr (!can_continue<T, Future, F>()) {
    return refused();
  } else {
    using call_type = continuation_call<T, Future, std::decay_t<F>>;
    using job_type = typename job_for<call_type>::type;
    constexpr bool owns = is_future<Future>::value;
    auto const attached = [](auto* made) {
      auto out = future_access::make<typename flattened<call_result_t<call_type>>::type>(state_ref(made));
      made->attach();
      return out;
    };
    if (where == nullptr && source->home() != nullptr)
      return attached(make_in_slab<continuation<job_type>>(std::move(source), owns, std::forward<F>(f)));
    pool_core& wanted = where != nullptr ? *core_of(*where) : *some_core();
    return attached(make_in_slab<placed_continuation<job_type>>(wanted, where != nullptr, std::move(source),
                                                                owns, std::forward<F>(f)));
  }
}

template<class F, class... Args>
auto spawn_arrived(arrival& in, std::uint16_t seat, priority p, F&& f, Args&&... args) {
  using call_type = spawned_call<F, Args...>;
  using type = typename job_for<call_type>::type;
  using result = typename flattened<call_result_t<call_type>>::type;
  type* const made = make_in_slab<type>(2U, nullptr, std::forward<F>(f), std::forward<Args>(args)...);
  made->holds_capacity = in.give_capacity();
  made->seat.set(seat);
  future<result> out = future_access::make<result>(state_ref(made));
  spawn_state(in.core(), *made, p);
  return out;
}

} // namespace detail

} // namespace rubato
