// The fast path of a join: the job in the caller's frame, and the call of both halves.
//
// A fork writes a job into the caller's frame and links it into the thread's chain of latent jobs. It
// publishes nothing and wakes no thread; docs/design/take.md explains how other threads steal the job. The
// order of this file follows the fast path: cold code is out of line and costs the caller's code only the
// call.
#pragma once

#include "rubato/detail/base/result.hpp"
#include "rubato/detail/sched/wait/steal_service.hpp"
#include "rubato/detail/work/callable.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <exception>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Calls a callable of a join: without arguments, or, for `context_call`, with a context. F is deduced as for
/// a forwarding reference.
template<class... Context>
struct joined_call {
  template<class F>
  using callee = called_as<F, Context&...>;
  template<class F>
  using result = brought_t<callee<F>, Context&...>;
  template<class F>
  static constexpr bool accepts = fits<callee<F>, Context&...>;

  /// The value, std::monostate for void. In the common case this is the only frame between the join and the
  /// callable, and the join is the only one between this and the user's code: a debugger shows each frame.
  template<class F>
  [[gnu::always_inline]] static value_of<result<F>> stayed(std::remove_reference_t<F>& f,
                                                           thread_context& me) {
    using flat = flattened<call_result_t<callee<F>, Context&...>>;
    if constexpr (wants_token<callee<F>, Context&...> || flat::is_task || flat::is_future ||
                  std::is_member_pointer_v<std::remove_cvref_t<F>>) {
      return call_and_wait(me, static_cast<callee<F>>(f), static_cast<Context&>(me.stayed())...);
    } else if constexpr (std::is_void_v<result<F>>) {
      static_cast<callee<F>>(f)(static_cast<Context&>(me.stayed())...);
      return {};
    } else {
      return static_cast<callee<F>>(f)(static_cast<Context&>(me.stayed())...);
    }
  }
  template<class F>
  static decltype(auto) moved(std::remove_reference_t<F>& f, thread_context& me) {
    return call_and_wait(me, static_cast<callee<F>>(f), static_cast<Context&>(me.moved())...);
  }
};
using plain_call = joined_call<>;
using context_call = joined_call<context>;

/// The latent second half of a join, in the joiner's frame.
template<class Call, class G>
class join_job : public forked_job {
  using result_type = typename Call::template result<G>;
  uninitialized<result_slot<result_type>> result_; // built by the thief
  uninitialized<std::exception_ptr> error_;        // f's, if it throws

  [[gnu::noinline, gnu::cold]] static void exec_elsewhere(latent_job& base, thread_context& runner) {
    std::construct_at(&static_cast<join_job&>(base).result_.value);
    run_stolen(base, runner, [](latent_job& job, thread_context& me) {
      auto& self = static_cast<join_job&>(job);
      self.result_.value.fill([&]() -> decltype(auto) { return Call::template moved<G>(self.g.get(), me); });
    });
  }

public:
  using value_type = value_of<result_type>;
  held<G> g;

  [[gnu::always_inline]] explicit join_job(held<G> from) noexcept
      : forked_job(&exec_elsewhere)
      , g(from) {}

  /// After pop() was false.
  [[gnu::noinline, gnu::cold]] value_type settle(thread_context& me) {
    if (me.chain.pop_slow()) return Call::template stayed<G>(g.get(), me);
    wait_for(me, stolen_job.value);
    struct cleanup {
      join_job& job;
      ~cleanup() { std::destroy_at(&job.result_.value); }
    } const guard{*this};
    return result_.value.take();
  }

  /// f has thrown; called by its handler.
  [[gnu::noinline, gnu::cold]] void note_error() noexcept {
    std::construct_at(&error_.value, std::current_exception());
  }
  /// Called after the handler, so that jobs that this thread runs meanwhile do not see f's exception. Unlinks
  /// the job, or waits for it and drops its result.
  [[noreturn, gnu::noinline, gnu::cold]] void rethrow(thread_context& me) {
    std::exception_ptr const error = std::move(error_.value);
    std::destroy_at(&error_.value);
    if (!me.chain.pop_settled()) {
      wait_for(me, stolen_job.value);
      std::destroy_at(&result_.value);
    }
    std::rethrow_exception(error);
  }
};

template<class Call, class F, class G>
using join_result =
    std::pair<value_of<typename Call::template result<F>>, value_of<typename Call::template result<G>>>;

/// Room for f's result, which may be a reference, while g runs. The join builds it there and destroys it.
template<class T>
struct first_result {
  using stored = std::conditional_t<std::is_reference_v<T>, std::add_pointer_t<T>, std::remove_const_t<T>>;
  uninitialized<stored> room;

  struct destroyed {
    stored& value;
    [[gnu::always_inline]] ~destroyed() { std::destroy_at(std::addressof(value)); }
  };
  [[gnu::always_inline]] T&& get() noexcept {
    if constexpr (std::is_reference_v<T>)
      return static_cast<T&&>(*room.value);
    else
      return static_cast<T&&>(room.value);
  }
};

/// A join off the fast path: another thread requests work, the chain is full, there is no asymmetric barrier,
/// or the thread belongs to no pool.
template<class Call, class F, class G>
[[gnu::noinline, gnu::cold]] join_result<Call, F, G> join_slow(thread_context& me, held<F> f, held<G> g) {
  using pair = join_result<Call, F, G>;
  if (me.core == nullptr)
    return on_pool(nullptr,
                   [&](thread_context& guest) -> pair { return join_slow<Call, F, G>(guest, f, g); });
  if (me.chain.full()) {
    typename pair::first_type a = Call::template stayed<F>(f.get(), me);
    return pair(std::forward<typename pair::first_type>(a), Call::template stayed<G>(g.get(), me));
  }
  join_job<Call, G> job(g);
  me.chain.push(&job);
  poll_requests(me);
  typename pair::first_type a = [&]() -> typename pair::first_type {
    try {
      return Call::template stayed<F>(f.get(), me);
    } catch (...) {
      job.note_error();
    }
    job.rethrow(me);
  }();
  bool const mine = me.chain.asymmetric() ? me.chain.pop() : me.chain.pop_fenced();
  if (mine)
    return pair(std::forward<typename pair::first_type>(a), Call::template stayed<G>(job.g.get(), me));
  return pair(std::forward<typename pair::first_type>(a), job.settle(me));
}

/// True if a join with these arguments has a pool or a context where it belongs.
template<class... Arguments>
inline constexpr bool is_pool_or_context = false;
template<class First, class F, class G>
inline constexpr bool is_pool_or_context<First, F, G> = std::is_base_of_v<pool, std::remove_cvref_t<First>> ||
                                                        std::is_same_v<context, std::remove_cvref_t<First>>;

/// join(f, g), or join(context, f, g).
template<class... Context>
struct join_operator {
private:
  using call = joined_call<Context...>;
  [[gnu::always_inline]] static thread_context& me_of() noexcept { return *current; }
  [[gnu::always_inline]] static thread_context& me_of(context& c) noexcept { return thread_context::of(c); }

  template<class F, class G>
  [[nodiscard]] static consteval bool accepts() {
    constexpr bool f_fits = call::template accepts<F>, g_fits = call::template accepts<G>;
    if constexpr (sizeof...(Context) == 0) {
      static_assert(f_fits, "rubato: join(f, g): f must be callable as f()");
      static_assert(g_fits, "rubato: join(f, g): g must be callable as g()");
    } else {
      static_assert(f_fits, "rubato: join(context, f, g): f must be callable as f(context&)");
      static_assert(g_fits, "rubato: join(context, f, g): g must be callable as g(context&)");
    }
    return f_fits && g_fits;
  }

public:
  template<class F, class G>
  [[gnu::always_inline]] auto operator()(Context&... context, F&& first, G&& second) const {
    if constexpr (accepts<F, G>()) {
      using pair = join_result<call, F, G>;
      thread_context& me = me_of(context...);
      held<F> f(first);
      held<G> g(second);
      if (me.chain.must_poll()) [[unlikely]]
        return join_slow<call, F, G>(me, f, g);
      join_job<call, G> job(g);
      auto* const place = me.chain.push(&job);
      first_result<typename pair::first_type> a;
      using stored = typename decltype(a)::stored;
      bool failed = false;
      try {
        // Not in a function of its own: see joined_call::stayed().
        if constexpr (std::is_reference_v<typename pair::first_type>) {
          auto&& made = call::template stayed<F>(f.get(), me);
          a.room.value = std::addressof(made);
        } else
          ::new (static_cast<void*>(std::addressof(a.room.value)))
              stored(call::template stayed<F>(f.get(), me));
      } catch (...) {
        job.note_error();
        failed = true;
      }
      if (failed) job.rethrow(me);
      typename decltype(a)::destroyed const when_left{a.room.value};
      if (me.chain.pop(place)) [[likely]]
        // Call the job's own copy of g: a register that holds g across f would cost f's leaf calls a
        // prologue.
        return pair(a.get(), call::template stayed<G>(job.g.get(), me));
      return pair(a.get(), job.settle(me));
    } else {
      return std::pair<refused, refused>();
    }
  }
};

} // namespace rubato::detail
