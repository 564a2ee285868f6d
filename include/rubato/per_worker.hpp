// One object per thread of a pool, without locks and without false sharing.
//
//   #include <rubato/algorithm.hpp>
//   #include <rubato/per_worker.hpp>
//
//   #include <cstdio>
//   #include <functional>
//
//   int main() {
//     rubato::pool pool(4);
//     rubato::per_worker<int> calls(pool);
//     rubato::for_index(pool, 0, 1000, [&](int) { ++calls.local(); });
//     std::printf("%d\n", calls.combine(std::plus<>())); // -> 1000
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/pool/worker_cells.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "rubato/thread_pool.hpp"

#include <stdexcept>
#include <type_traits>
#include <utility>

namespace rubato {

/// One T per thread of a pool, made at the thread's first local(): partial sums, buffers, random generators.
/// Any task may run on any thread, so a task must work with any of them. A coroutine must call local() again
/// after each co_await. A T has cache lines of its own.
///
/// The pool must outlive the per_worker.
template<class T>
class per_worker {
  pool* pool_;
  detail::pool_core* core_; // the pool's, unless the process has forked
  detail::worker_cells<T> cells_;

  [[gnu::noinline, gnu::cold]] void check_pool() const {
    if (current_pool() != pool_)
      throw std::logic_error(
          "rubato: per_worker::local() outside its pool; call it in pool::run() or in a task");
  }
  /// One call for all that is rare: two took three more instructions of each local() in a loop.
  [[gnu::noinline]] T& rare_local() {
    detail::thread_context const& me = *detail::current;
    if (me.core != core_) check_pool();
    return cells_.of(me.index);
  }

public:
  /// Makes each T by T{}.
  explicit per_worker(pool& p)
      : per_worker(p, [] { return T{}; }) {}
  /// Makes each T by make(), which several threads may call at once.
  template<class Make>
  per_worker(pool& p, Make&& make)
      : pool_(&p)
      , core_(detail::core_of(p))
      , cells_(p.slots(), std::forward<Make>(make)) {}

  /// The calling thread's T. Other threads use it only by for_each() and combine(). Throws std::logic_error
  /// unless the caller is a thread of the pool (see pool::run()), std::bad_alloc, and what make() throws.
  /// O(1), without a lock.
  [[nodiscard]] [[gnu::always_inline]] T& local() {
    detail::thread_context const& me = *detail::current;
    if (me.core == core_) [[likely]]
      if (T* const mine = cells_.at_hand_of(me.index); mine != nullptr) [[likely]]
        return *mine;
    return rare_local();
  }

  /// Calls f(T&) for every existing T, on the calling thread, in the order of the threads' numbers. No other
  /// thread may use its T meanwhile.
  template<class F>
  void for_each(F&& f) {
    static_assert(std::is_invocable_v<F&, T&>,
                  "rubato: per_worker::for_each(f): f must be callable as f(T&)");
    if constexpr (std::is_invocable_v<F&, T&>) cells_.for_each(f);
  }
  /// Returns op(... op(t0, t1) ..., tn) of all existing T, which stay unchanged, or make() if there are none.
  /// No other thread may use its T meanwhile.
  template<class Op>
  [[nodiscard]] T combine(Op&& op) const {
    return cells_.combine(op);
  }
};

} // namespace rubato
