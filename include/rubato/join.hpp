// Fork and join: two callables that may run at the same time, at about the price of calling them.
//
//   #include <rubato/join.hpp>
//
//   #include <cstdio>
//
//   long fib(int n) {
//     if (n < 2) return n;
//     auto [a, b] = rubato::join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
//     return a + b;
//   }
//
//   int main() {
//     std::printf("%ld\n", fib(20)); // -> 6765
//   }
//
// This header declares `pool` and does not define it: to make a pool, include rubato/pool.hpp as well.
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/fork/invoke.hpp"

#include <utility>

namespace rubato {

namespace detail {

/// Runs f() on this thread and, at the same time if a worker is free, g(). Returns both results as a
/// std::pair, with std::monostate for void. A thread outside any pool is a member of pool::global() for the
/// call.
///
/// **Callables.** Each is called at most once, as an lvalue if it accepts that, else as an rvalue. They are
/// borrowed until the call returns. They may return a reference or a type that is only movable. A callable
/// that accepts a std::stop_token gets one; a task or future that a callable returns is awaited.
///
/// **Failure.** If f throws, join() throws f's exception. g is skipped if no thread has begun it, and awaited
/// otherwise. If only g throws, join() throws g's exception when f has returned. Neither is asked to stop: if
/// one waits for what only the other one provides, stop the scope around both.
///
/// **Waiting.** While the calling thread waits for g, it runs only work that descends from g. So the caller
/// may hold a lock across the call if neither callable needs it.
///
/// **Cost.** A fork that no thread steals costs no atomic read-modify-write, no fence, no allocation and no
/// system call. Source: lazy task creation (Mohr et al., 1991) with jobs on the stack, and the THE protocol
/// of Cilk-5 (Frigo et al., 1998) with the owner's fence moved to the thief (Dice et al., asymmetric Dekker
/// synchronisation).
///
/// join(context, f, g) calls f(context&) and g(context&), for a recursion that passes a context down. That
/// saves the look-up of the thread at every fork.
struct join_fn : join_operator<>, join_operator<context> {
  using join_operator<>::operator();
  using join_operator<context>::operator();

  /// join(f, g) on the pool p. The calling thread is a member of p for the duration of the call.
  template<class F, class G>
  auto operator()(pool& p, F&& f, G&& g) const {
    return join_on(p, std::forward<F>(f), std::forward<G>(g));
  }
  template<class... Other>
    requires(sizeof...(Other) != 2 && !is_pool_or_context<Other...>)
  refused operator()(Other&&... /*arguments*/) const {
    static_assert(always_false<Other...>, "rubato: join(f, g), join(pool, f, g), join(context, f, g): two "
                                          "callables, after the pool or the context; invoke() takes more");
    return {};
  }
};

struct with_context_fn : pool_forms<with_context_fn> {
  /// Calls f(context&) with the calling thread's context, which begins a recursion. The context is valid
  /// until f returns. A task or future that f returns is awaited. f runs as a member of the given pool, else
  /// of the caller's own, else of pool::global().
  template<class F>
  static auto on(pool* p, F&& f) -> brought_if_fits_t<called_as<F, context&>, context&> {
    return call_with_context(p, std::forward<F>(f));
  }
};

struct invoke_fn : pool_forms<invoke_fn> {
  /// Calls all callables, in parallel as far as workers are free, and returns their results as a std::tuple,
  /// with std::monostate for void. Otherwise like nested joins: see join().
  template<class F, class... Rest>
  static auto on(pool* p, F&& f, Rest&&... rest) {
    return invoke_on(p, std::forward<F>(f), std::forward<Rest>(rest)...);
  }
};

} // namespace detail

inline constexpr detail::join_fn join{};
inline constexpr detail::with_context_fn with_context{};
inline constexpr detail::invoke_fn invoke{};

} // namespace rubato
