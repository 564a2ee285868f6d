// How race(), hedge(), async_race() and async_hedge() make their call and run its copies. The copies of the
// last two may be coroutines, which hold no thread while they wait. docs/design/hedging.md
#pragma once

#include "rubato/detail/hedge/call_copies.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/task.hpp"
#include "rubato/this_task.hpp"

#include <exception>
#include <functional>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// The right to run a copy in a coroutine, and a reference to the call. If the frame that has it is destroyed
/// before the copy has ended, begun or not, the copy ends without a result.
class copy_in_frame {
  state_ref call_;
  call_copy* copy_;
  bool begun_ = false;

public:
  copy_in_frame(state_ref call, call_copy& c) noexcept
      : call_(std::move(call))
      , copy_(&c) {}
  copy_in_frame(copy_in_frame&& other) noexcept
      : call_(std::move(other.call_))
      , copy_(std::exchange(other.copy_, nullptr)) {}
  copy_in_frame& operator=(copy_in_frame&&) = delete;
  ~copy_in_frame() {
    if (copy_ == nullptr || !copy_->in_frame) return;
    if (begun_)
      end(false);
    else
      call().drop_copy(*copy_);
  }
  [[nodiscard]] call_copies& call() const noexcept { return static_cast<call_copies&>(*call_.get()); }
  [[nodiscard]] call_copy& copy() const noexcept { return *copy_; }
  [[nodiscard]] bool begin() noexcept {
    begun_ = call().begin(*copy_);
    if (!begun_) copy_ = nullptr;
    return begun_;
  }
  void end(bool has_value) noexcept { call().end(*std::exchange(copy_, nullptr), has_value); }
};

/// A call whose function returns a task.
template<class F>
class coroutine_call_copies final : public typed_call_copies<F> {
  using base = typed_call_copies<F>;
  using result = typename base::result;

  static rubato::task<result> call(typename base::callable& f) {
    if constexpr (wants_token<typename base::callable&>)
      return std::invoke(f, rubato::this_task_stop_token());
    else
      return std::invoke(f);
  }
  static rubato::task<void> run(copy_in_frame mine) {
    if (!mine.begin()) co_return;
    auto& self = static_cast<coroutine_call_copies&>(mine.call());
    auto& slot = self.slots_[mine.copy().number];
    mine.call().note_begin(mine.copy());
    try {
      rubato::task<result> made = call(self.function());
      if constexpr (std::is_void_v<result>) {
        co_await std::move(made);
        slot.emplace();
      } else {
        decltype(auto) value = co_await std::move(made);
        slot.emplace(static_cast<decltype(value)&&>(value));
      }
    } catch (...) {
      slot.fail(std::current_exception());
    }
    mine.end(slot.holds() == outcome::value);
  }
  [[nodiscard]] state_ref make_coroutine(call_copy& c) noexcept override {
    try {
      this->hold();
      copy_in_frame mine(state_ref(this), c);
      state_ref made(make_in_slab<child_job<void>>(nullptr, run(std::move(mine))));
      c.in_frame = true;
      return made;
    } catch (...) { // no memory: the copy has ended
      if (this->begin(c)) {
        this->slots_[c.number].fail(std::current_exception());
        this->drop_begun(c);
      }
      return {};
    }
  }

  [[nodiscard]] bool makes_coroutines() const noexcept override { return true; }

public:
  using base::base;
};

template<class F>
rubato::task<brought_t<F const&>> run_call(pool* p, call_kind k, race_options o, F f) {
  constexpr bool is_coroutine = flattened<call_result_t<F const&>>::is_task;
  using state = std::conditional_t<is_coroutine, coroutine_call_copies<F>, typed_call_copies<F>>;
  coroutine_task& self = *this_trampoline().running;
  auto* const made =
      make_in_slab<state>(p != nullptr ? *core_of(*p) : *self.home(), k, o, !is_coroutine, std::move(f));
  state_ref const mine(made);
  call_stops const stops(*made, &self.scope(), o);
  static_cast<void>(made->start());
  end_of_work over(*made); // call_stops passes a stop of the coroutine on
  co_await over;
  made->fill_report(o);
  co_return made->take();
}

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
