// Fork and join: two callables that may run at the same time, at about the price of calling them.
//
// A fork writes a job into the caller's frame and links it to the thread's chain of latent jobs; nothing is
// published and nobody is woken. See docs/design/take.md for how other threads get at it. The order of this
// file follows the fast path: everything cold is out of line, and so costs the caller's code nothing but its
// call.
//
// This header declares `pool` and does not define it: to make a pool, include rubato/pool.hpp as well.
#pragma once

#include "rubato/detail/config.hpp"

#include "rubato/detail/callable.hpp"
#include "rubato/detail/flattened.hpp"
#include "rubato/detail/member.hpp"
#include "rubato/detail/result.hpp"

#include <exception>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

/// Calls the callables of a join: with nothing, or, of `context_call`, with a context. F is as a forwarding
/// reference has it.
template<class... Context>
struct joined_call {
  template<class F>
  using callee = called_as<F, Context&...>;
  template<class F>
  using result = brought_t<callee<F>, Context&...>;
  template<class F>
  static constexpr bool accepts = fits<callee<F>, Context&...>;

  /// The value, std::monostate for void. In the common case this is the only function between the join and
  /// the callable, and the join the only one between the callable and the user's code: a debugger shows a
  /// frame for each.
  template<class F>
  [[gnu::always_inline]] static value_of<result<F>> stayed(std::remove_reference_t<F>& f, member& me) {
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
  static decltype(auto) moved(std::remove_reference_t<F>& f, member& me) {
    return call_and_wait(me, static_cast<callee<F>>(f), static_cast<Context&>(me.moved())...);
  }
};
using plain_call = joined_call<>;
using context_call = joined_call<context>;

/// The latent second half of a join, in the joiner's frame.
template<class Call, class G>
class join_job : public latent_job {
  using result_type = typename Call::template result<G>;
  uninitialized<result_slot<result_type>> result_; // built by the thread that runs the job for us
  uninitialized<std::exception_ptr> error_;        // f's, if it throws

  [[gnu::noinline, gnu::cold]] static void exec_elsewhere(latent_job& base, member& runner) {
    auto& self = static_cast<join_job&>(base);
    std::construct_at(&self.result_.value);
    self.result_.value.fill(
        [&]() -> decltype(auto) { return Call::template moved<G>(self.g.get(), runner); });
    announce(self.departure.value);
  }

public:
  using value_type = value_of<result_type>;
  held<G> g;

  [[gnu::always_inline]] explicit join_job(held<G> from) noexcept
      : latent_job(&exec_elsewhere)
      , g(from) {}

  /// After pop() was false.
  [[gnu::noinline, gnu::cold]] value_type settle(member& me) {
    if (me.chain.pop_slow()) return Call::template stayed<G>(g.get(), me);
    wait_for(me, departure.value);
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
  /// After the handler, so that what runs here meanwhile sees nothing of f's exception: unlinks the job, or
  /// waits for it and drops what it brought.
  [[noreturn, gnu::noinline, gnu::cold]] void rethrow(member& me) {
    std::exception_ptr const error = std::move(error_.value);
    std::destroy_at(&error_.value);
    if (!me.chain.pop_settled()) {
      wait_for(me, departure.value);
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

/// A join on a thread that has to look first: another thread asks for work, the chain is full, there is no
/// asymmetric barrier, or the thread belongs to no pool.
template<class Call, class F, class G>
[[gnu::noinline, gnu::cold]] join_result<Call, F, G> join_slow(member& me, held<F> f, held<G> g) {
  using pair = join_result<Call, F, G>;
  if (me.core == nullptr)
    return on_pool(nullptr, [&](member& guest) -> pair { return join_slow<Call, F, G>(guest, f, g); });
  if (me.chain.full()) {
    typename pair::first_type a = Call::template stayed<F>(f.get(), me);
    return pair(std::forward<typename pair::first_type>(a), Call::template stayed<G>(g.get(), me));
  }
  join_job<Call, G> job(g);
  me.chain.push(&job);
  answer(me);
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

/// join(f, g), or join(context, f, g).
template<class... Context>
struct join_operator {
private:
  using call = joined_call<Context...>;
  [[gnu::always_inline]] static member& me_of() noexcept { return *current; }
  [[gnu::always_inline]] static member& me_of(context& c) noexcept { return member::of(c); }

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
      member& me = me_of(context...);
      held<F> f(first);
      held<G> g(second);
      if (me.chain.must_look()) [[unlikely]]
        return join_slow<call, F, G>(me, f, g);
      join_job<call, G> job(g);
      me.chain.push(&job);
      first_result<typename pair::first_type> a;
      using stored = typename decltype(a)::stored;
      bool failed = false;
      try {
        // Not by a function of its own: see joined_call::stayed().
        if constexpr (std::is_reference_v<typename pair::first_type>)
          a.room.value = std::addressof(call::template stayed<F>(f.get(), me));
        else
          ::new (static_cast<void*>(std::addressof(a.room.value)))
              stored(call::template stayed<F>(f.get(), me));
      } catch (...) {
        job.note_error();
        failed = true;
      }
      if (failed) job.rethrow(me);
      typename decltype(a)::destroyed const when_left{a.room.value};
      if (me.chain.pop()) [[likely]]
        // The job's own copy of g: what f's caller kept in a register across f would cost its leaf calls a
        // prologue.
        return pair(a.get(), call::template stayed<G>(job.g.get(), me));
      return pair(a.get(), job.settle(me));
    } else {
      return std::pair<refused, refused>();
    }
  }
};

/// Runs f() on this thread and, at the same time if a worker is free, g(); returns both results as a
/// std::pair, std::monostate for void. From a thread outside any pool, on pool::global().
///
/// Either may return a reference or a type that is only movable. The callables are borrowed until the call
/// returns, and called once: as rvalues if they allow nothing else. A callable that is invocable with a
/// std::stop_token gets one; a task or future that one returns is waited for. If f throws, g is skipped if
/// no thread has begun it, else waited for, and f's exception wins; otherwise g's is thrown. A thread that
/// waits here runs nothing but what descends from g, so a lock may be held across the call if neither
/// branch needs it. An unstolen fork costs no atomic read-modify-write, no fence, no allocation and no
/// system call. Source: lazy task creation (Mohr et al., 1991) with jobs on the stack, and the THE protocol
/// of Cilk-5 (Frigo et al., 1998) with the owner's fence moved to the thief (Dice et al., asymmetric Dekker
/// synchronisation).
///
/// join(context, f, g) is the same for a recursion that passes a context down: f(context&), g(context&). It
/// saves the look-up of the thread at every fork.
struct join_fn : join_operator<>, join_operator<context> {
  using join_operator<>::operator();
  using join_operator<context>::operator();

  /// The same on a given pool, which the calling thread joins for the time of the call.
  template<class F, class G>
  auto operator()(pool& p, F&& f, G&& g) const {
    static_assert(fits<called_as<F>>, "rubato: join(pool, f, g): f must be callable as f()");
    static_assert(fits<called_as<G>>, "rubato: join(pool, f, g): g must be callable as g()");
    if constexpr (fits<called_as<F>> && fits<called_as<G>>)
      return on_pool(&p, [&](member&) { return (*this)(std::forward<F>(f), std::forward<G>(g)); });
    else
      return std::pair<refused, refused>();
  }
};

struct with_context_fn {
private:
  template<class F>
  static constexpr bool accepts = fits<called_as<F, context&>, context&>;
  template<class F>
  using result = brought_if_fits_t<called_as<F, context&>, context&>;

public:
  /// Calls f(context&) with the context of the calling thread, which is valid until f returns; the first
  /// context of a recursion. A task or future that f returns is waited for. From a thread outside any pool,
  /// on pool::global(); or on a given one.
  template<class F>
  auto operator()(F&& f) const -> result<F> {
    static_assert(accepts<F>, "rubato: with_context(f): f must be callable as f(context&)");
    if constexpr (!accepts<F>)
      return {};
    else if (current->core == nullptr)
      return run<F>(nullptr, f);
    else
      return static_cast<result<F>>(context_call::stayed<F>(f, *current));
  }
  template<class F>
  auto operator()(pool& p, F&& f) const -> result<F> {
    static_assert(accepts<F>, "rubato: with_context(pool, f): f must be callable as f(context&)");
    if constexpr (!accepts<F>)
      return {};
    else
      return run<F>(&p, f);
  }

private:
  template<class F>
  static auto run(pool* p, std::remove_reference_t<F>& f) -> result<F> {
    return static_cast<result<F>>(
        on_pool(p, [&](member& me) -> value_of<result<F>> { return context_call::stayed<F>(f, me); }));
  }
};

struct invoke_fn {
  /// Runs all callables, at the same time as far as workers are free; returns their results as a std::tuple,
  /// std::monostate for void. As nested joins: see join().
  template<class F, class... Rest>
    requires(!std::is_same_v<std::remove_cvref_t<F>, pool>)
  auto operator()(F&& f, Rest&&... rest) const {
    static_assert(accepts<F, Rest...>, "rubato: invoke(f, g, ...): each must be callable as f()");
    if constexpr (accepts<F, Rest...>)
      return run(std::forward<F>(f), std::forward<Rest>(rest)...);
    else
      return std::tuple<decltype(static_cast<void>(rest), refused())..., refused>();
  }
  template<class F, class... Rest>
  auto operator()(pool& p, F&& f, Rest&&... rest) const {
    static_assert(accepts<F, Rest...>, "rubato: invoke(pool, f, g, ...): each must be callable as f()");
    if constexpr (accepts<F, Rest...>)
      return on_pool(&p, [&](member&) { return run(std::forward<F>(f), std::forward<Rest>(rest)...); });
    else
      return std::tuple<decltype(static_cast<void>(rest), refused())..., refused>();
  }

private:
  template<class... Fs>
  static constexpr bool accepts = (fits<called_as<Fs>> && ...);

  template<class F, class... Rest>
  static auto run(F&& f, Rest&&... rest) {
    using first = value_of<plain_call::result<F>>;
    if constexpr (sizeof...(Rest) == 0) {
      if (current->core == nullptr)
        return on_pool(nullptr, [&](member& me) { return std::tuple<first>(plain_call::stayed<F>(f, me)); });
      return std::tuple<first>(plain_call::stayed<F>(f, *current));
    } else {
      auto halves = join_fn{}(std::forward<F>(f), [&] { return run(std::forward<Rest>(rest)...); });
      return std::tuple_cat(std::tuple<first>(std::forward<first>(halves.first)), std::move(halves.second));
    }
  }
};

} // namespace detail

inline constexpr detail::join_fn join{};
inline constexpr detail::with_context_fn with_context{};
inline constexpr detail::invoke_fn invoke{};

} // namespace rubato
