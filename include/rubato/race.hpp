// Hedged execution: several copies of one call run at once, and the first result counts.
//
//   #include <rubato/race.hpp>
//
//   #include <cstdio>
//   #include <stop_token>
//
//   int main() {
//     int const answer = rubato::race([](std::stop_token stop) {
//       int sum = 0;
//       for (int i = 0; i != 7 && !stop.stop_requested(); ++i) sum += 6; // a loser stops early
//       return sum;
//     });
//     std::printf("%d\n", answer); // -> 42
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/hedge/run_copies.hpp"
#include "rubato/race_options.hpp" // IWYU pragma: export
#include "rubato/task.hpp"
#include "rubato/thread_pool.hpp"

#include <type_traits>
#include <utility>

namespace rubato {

namespace detail {

struct race_fn : pool_forms<race_fn> {
  /// race(f), race(options, f), each also with a pool first: calls f(std::stop_token), or f(), several times
  /// at once, and returns the first result. The caller runs the first copy; threads of the pool run the
  /// others, each on a CPU of its own. The first copy that returns wins. Then the token asks the others to
  /// stop, and copies that have not begun never begin. race() returns when all copies have ended. So f may
  /// refer to the caller's local variables, and race() also waits until the losers have tested their token.
  /// Several threads call f through a const reference. Side effects of losers remain. A task or future that f
  /// returns is awaited.
  ///
  /// If all copies throw, race() throws the exception of the first copy. It throws cancelled if the options'
  /// token or the caller's own task is stopped, or the deadline passes, before a copy returns; a copy that
  /// returns afterwards never wins. It throws std::invalid_argument for options out of range, and
  /// std::bad_alloc. A discard of the pool stops the token, and does not end the wait.
  ///
  /// Copies need no worker: they run on idle threads and spares of the pool beside its size() tasks, in a
  /// pool without workers too. All of them begin even if each waits for the others. If the pool can make no
  /// thread for a copy, the copy is queued, and the report says so. In a pool that has no workers, or was
  /// shut down, such a copy is withdrawn.
  ///
  /// Source: J. Dean, L. A. Barroso, "The tail at scale", CACM 56(2), 2013.
  template<class F>
  static auto on(pool* p, race_options const& o, F&& f)
      -> brought_if_fits_t<std::remove_reference_t<F> const&> {
    return run_race(p, o, std::forward<F>(f));
  }
  template<class F>
  static auto on(pool* p, F&& f) -> brought_if_fits_t<std::remove_reference_t<F> const&> {
    return on(p, race_options(), std::forward<F>(f));
  }
  template<class F>
  static refused on(pool* /*p*/, F&& /*f*/, race_options const& /*o*/) {
    static_assert(always_false<F>, "rubato: race(options, f): the options come before f");
    return {};
  }
};

struct hedge_fn : pool_forms<hedge_fn> {
  /// hedge(f), hedge(options, f), each also with a pool first: as race(), but returns with the first result,
  /// without waiting for the losers. So a copy that stalls where it cannot test its token does not delay the
  /// caller. f is decay-copied, and lives until the last loser has ended; objects that it refers to must live
  /// as long, and the result must not refer to f. The losers' stop callbacks run before hedge() returns. All
  /// copies run on threads of the pool. The caller only waits, and another thread may take its seat. A loser
  /// occupies a thread of the pool and no seat; the thread is used again when the loser ends. Until then
  /// pool_stats::stragglers counts it. A shutdown of the pool waits for the loser, and prints that after a
  /// second.
  ///
  /// Exceptions are those of race(). A stop also ends the wait, and so does a discard of the pool whose task
  /// the caller runs: then all copies are losers. If the pool can make no thread, the caller runs the first
  /// copy itself.
  template<class F>
  static auto on(pool* p, race_options const& o, F&& f) -> brought_if_fits_t<std::decay_t<F> const&> {
    return run_hedge(p, o, std::forward<F>(f));
  }
  template<class F>
  static auto on(pool* p, F&& f) -> brought_if_fits_t<std::decay_t<F> const&> {
    return on(p, race_options(), std::forward<F>(f));
  }
  template<class F>
  static refused on(pool* /*p*/, F&& /*f*/, race_options const& /*o*/) {
    static_assert(always_false<F>, "rubato: hedge(options, f): the options come before f");
    return {};
  }
};

template<call_kind Kind>
struct async_call_fn : pool_forms<async_call_fn<Kind>> {
  template<class F, class... Args>
    requires(!std::is_same_v<std::remove_cvref_t<F>, race_options>)
  static auto on(pool* p, F&& f, Args&&... args) {
    return on(p, race_options(), std::forward<F>(f), std::forward<Args>(args)...);
  }
  template<class F, class... Args>
  static auto on(pool* p, race_options o, F&& f, Args&&... args) {
    return run_async<Kind>(p, std::move(o), std::forward<F>(f), std::forward<Args>(args)...);
  }
};

} // namespace detail

inline constexpr detail::race_fn race{};
inline constexpr detail::hedge_fn hedge{};
/// co_await async_race(f, args...), also with options, and with a pool, first: as race(), in a coroutine. It
/// ends when the losers have ended. f and the arguments are decay-copied; the copies get the arguments as
/// const lvalues. If f returns a task, each copy is a coroutine: it occupies no thread while it waits, and is
/// not pinned. Otherwise f runs on threads of the pool beside its workers. A stop of the awaiting task stops
/// the call, which throws cancelled. So does a call on a pool that was shut down.
inline constexpr detail::async_call_fn<detail::call_kind::async_race> async_race{};
/// co_await async_hedge(f, args...), also with options, and with a pool, first: as async_race(), but ends
/// with the first result.
inline constexpr detail::async_call_fn<detail::call_kind::async_hedge> async_hedge{};

} // namespace rubato
