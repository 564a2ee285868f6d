// Runs one scenario on one contender: `bench-<contender> <scenario> <workers> <size>`.
//
// A contender is a class R, made with the number of threads that may compute at once, the caller included:
//
//   r.run(f)                     f() inside the pool; returns when it is done. What follows is called inside
//   of it. R::join(f, g)                both, perhaps at once; something that destructures into the two
//   results R::sum(n, f)                 f(0) + ... + f(n - 1), each a possible fork; n <= 16 R::for_index(n,
//   f)           f(i) for all i < n, by the contender's own way to cut a loop R::scope(n, f)               n
//   spawns of f(i), and a wait R::scope_of_two(f, g)       a scope that spawns f and calls g itself
//   r.enqueue(f)                 from a thread outside: f() some time later
//
// plus R::name, R::version(), R::has_threads. One that lacks a member takes no part in the scenarios that
// need it.
#pragma once

#include "../scenarios/enqueue.hpp"
#include "../scenarios/fib.hpp"
#include "../scenarios/flat_join.hpp"
#include "../scenarios/flat_scope.hpp"
#include "../scenarios/frame.hpp"
#include "../scenarios/hidden.hpp"
#include "../scenarios/idle.hpp"
#include "../scenarios/iterate.hpp"
#include "../scenarios/nqueens.hpp"
#include "../scenarios/skynet.hpp"
#include "../scenarios/tasks.hpp"
#include "../scenarios/tree.hpp"
#include "../scenarios/wake.hpp"
#include "main.hpp"

namespace bench {

namespace probe {
struct number {
  std::uint64_t operator()() const { return 0; }
  std::uint64_t operator()(std::uint64_t) const { return 0; }
};
struct action {
  void operator()() const {}
  void operator()(std::size_t) const {}
};
} // namespace probe

template<class R>
concept forks = requires(R& r) {
  r.run(probe::action{});
  R::join(probe::number{}, probe::number{});
};
template<class R>
concept sums = requires { R::sum(1, probe::number{}); };
template<class R>
concept loops = requires { R::for_index(1, probe::action{}); };
template<class R>
concept scopes = requires { R::scope(1, probe::action{}); };
template<class R>
concept scopes_of_two = requires { R::scope_of_two(probe::action{}, probe::action{}); };
template<class R>
concept takes_from_outside = requires(R& r) { r.enqueue(probe::action{}); };

/// Nothing if the contender has no part in this scenario.
template<class R>
std::optional<measurement> perform(R& r, std::string_view scenario, std::uint64_t size) {
  if constexpr (forks<R>) {
    if (scenario == "fib") return fib(r, size);
    if (scenario == "tree") return tree<false>(r, size);
    if (scenario == "tree10") return tree<true>(r, size);
    if (scenario == "flatjoin") return flat_join(r, size);
    if (scenario == "hidden") return hidden(r, size);
  }
  if constexpr (sums<R>) {
    if (scenario == "skynet") return skynet(r, size);
    if (scenario == "nqueens") return nqueens(r, size);
  }
  if constexpr (loops<R>) {
    if (scenario == "iterate") return iterate<false>(r, size);
    if (scenario == "iterate10") return iterate<true>(r, size);
    if constexpr (forks<R>)
      if (scenario == "frame") return frame<false>(r, size);
  }
  if constexpr (scopes<R>) {
    if (scenario == "flat") return flat_scope(r, size);
    if (scenario == "tasks") return long_tasks(r, size);
    if constexpr (forks<R>)
      if (scenario == "framescope") return frame<true>(r, size);
  }
  if constexpr (scopes_of_two<R>)
    if (scenario == "scopetree") return scope_tree(r, size);
  if constexpr (takes_from_outside<R>) {
    if (scenario == "enqueue") return enqueue(r, size);
    if (scenario == "wake") return wake(r, size);
  }
  if constexpr (forks<R> || takes_from_outside<R>) {
    if (scenario == "idle" && R::has_threads) return idle(r, size);
  }
  // What only this contender has: another form of the same computation.
  if constexpr (requires { r.own_scenario(scenario, size); }) return r.own_scenario(scenario, size);
  return std::nullopt;
}

template<class R>
int drive(int argc, char** argv) {
  return run_scenario<R>(argc, argv, [](R& r, std::string_view scenario, unsigned, std::uint64_t size) {
    return perform(r, scenario, size);
  });
}

} // namespace bench
