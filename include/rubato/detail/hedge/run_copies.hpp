// How race() and hedge() run the copies of their call. docs/design/hedging.md
#pragma once

#include "rubato/detail/hedge/coroutine_copies.hpp"
#include "rubato/detail/sched/pool_access.hpp"

#include <type_traits>
#include <utility>

namespace rubato::detail {

template<class F>
inline constexpr bool fits_copies = fits<std::remove_reference_t<F> const&>;

template<class F>
auto run_race(pool* p, race_options const& o, F&& f) -> brought_if_fits_t<std::remove_reference_t<F> const&> {
  static_assert(fits_copies<F>,
                "rubato: race(f): f must be callable as f(std::stop_token) or f(), also if it "
                "is const: several threads call it at once");
  if constexpr (!fits_copies<F>) {
    return {};
  } else {
    using callable = std::remove_reference_t<F> const&;
    using state = typed_call_copies<callable>;
    using result = typename state::result;
    pool& where = pool_or_current(p);
    stop_scope* const around = scope_in_force(); // before the caller becomes a guest of that pool
    return static_cast<result>(on_pool(&where, [&](thread_context&) -> result {
      auto* const made =
          make_in_slab<state>(*core_of(where), call_kind::race, o, true, static_cast<callable>(f));
      state_ref const mine(made);
      conduct(*made, around, o);
      return made->take();
    }));
  }
}

template<class F>
auto run_hedge(pool* p, race_options const& o, F&& f) -> brought_if_fits_t<std::decay_t<F> const&> {
  static_assert(can_be_kept<F>, "rubato: hedge(f): f is copied unless it is passed as an rvalue: std::move "
                                "what cannot be copied");
  static_assert(fits_copies<std::decay_t<F>>, "rubato: hedge(f): f must be callable as f(std::stop_token) or "
                                              "f(), also if it is const: several threads call it at once");
  if constexpr (!can_be_kept<F> || !fits_copies<std::decay_t<F>>) {
    return {};
  } else {
    using state = typed_call_copies<std::decay_t<F>>;
    auto* const made =
        make_in_slab<state>(*core_of(pool_or_current(p)), call_kind::hedge, o, true, std::forward<F>(f));
    state_ref const mine(made);
    conduct(*made, scope_in_force(), o);
    return made->take();
  }
}

template<class F, class... Args>
inline constexpr bool fits_shared = fits<std::decay_t<F> const&, std::decay_t<Args> const&...>;

template<call_kind Kind, class F, class... Args>
auto run_async(pool* p, race_options o, F&& f, Args&&... args) {
  constexpr bool kept = can_be_kept<F, Args...>, called = fits_shared<F, Args...>;
  static_assert(kept,
                "rubato: async_race() and async_hedge(f, args...): f and the arguments are copied unless "
                "they are passed as rvalues: std::move what cannot be copied");
  static_assert(!kept || called,
                "rubato: async_race() and async_hedge(f, args...): f must be callable as f(args...), also "
                "if it and the arguments are const: several threads call it at once");
  if constexpr (!kept || !called) {
    return refused();
  } else {
    using call = bound_call<std::decay_t<F>, std::decay_t<Args>...>;
    return run_call<call>(p, Kind, std::move(o), call(std::forward<F>(f), std::forward<Args>(args)...));
  }
}

} // namespace rubato::detail
