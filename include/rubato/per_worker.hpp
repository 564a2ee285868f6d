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

#include "rubato/detail/base/atomics.hpp"
#include "rubato/thread_pool.hpp"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace rubato {

/// One T per thread of a pool, made at the thread's first local(): partial sums, buffers, random generators.
/// Any task may run on any thread, so a task must work with any of them. A coroutine must call local() again
/// after each co_await. A T has cache lines of its own.
///
/// The pool must outlive it.
template<class T>
class per_worker {
  struct alignas(64) cell { // never in a coroutine
    T value;                // on a cache line of its own
  };

  // There may be many slots, few of them used: pointers to cells stand in chunks, which are made when needed.
  static constexpr unsigned per_chunk = 512;
  struct chunk {
    std::array<detail::published<cell*>, per_chunk> cells{};
  };

  pool* pool_;
  std::function<T()> make_;
  unsigned chunk_count_;
  std::unique_ptr<detail::published<chunk*>[]> chunks_;

  template<class F>
  void for_each_cell(F f) const {
    for (unsigned k = 0; k != chunk_count_; ++k) {
      chunk const* const some = chunks_[k].get();
      if (some == nullptr) continue;
      for (auto const& one : some->cells)
        if (cell* const c = one.get()) f(*c);
    }
  }

  detail::published<cell*>& mine(unsigned worker) {
    auto& slot = chunks_[worker / per_chunk];
    chunk* some = slot.get();
    if (some == nullptr) {
      auto made = std::make_unique<chunk>();
      some = slot.try_publish(made.get());
      if (some == made.get()) static_cast<void>(made.release());
    }
    return some->cells[worker % per_chunk];
  }

  T& make_mine(detail::published<cell*>& here) {
    std::unique_ptr<cell> made(new cell{make_()});
    // If make() waits, a job that this thread runs meanwhile may have made the cell.
    cell* c = here.own();
    if (c == nullptr) {
      c = made.release();
      here.publish(c);
    }
    return c->value;
  }

public:
  /// Makes each T by T{}.
  explicit per_worker(pool& p)
      : per_worker(p, [] { return T{}; }) {}
  /// Makes each T by make(), which several threads may call at once.
  template<class Make>
  per_worker(pool& p, Make&& make)
      : pool_(&p)
      , make_([made = std::make_shared<std::decay_t<Make>>(std::forward<Make>(make))]() -> T {
        constexpr bool fits = std::is_invocable_r_v<T, std::decay_t<Make>&>;
        static_assert(fits,
                      "rubato: per_worker(pool, make): make must be callable as make(), and return a T");
        if constexpr (fits)
          return std::invoke(*made);
        else
          return detail::refused();
      })
      , chunk_count_(p.slots() / per_chunk + 1)
      , chunks_(std::make_unique<detail::published<chunk*>[]>(chunk_count_)) {}
  ~per_worker() {
    for_each_cell([](cell& c) { delete &c; });
    for (unsigned k = 0; k != chunk_count_; ++k) delete chunks_[k].own();
  }

  /// The calling thread's T. Other threads use it only by for_each() and combine(). Throws std::logic_error
  /// unless the caller is a thread of the pool (see pool::run()), std::bad_alloc, and what make() throws.
  /// O(1), without a lock.
  [[nodiscard]] T& local() {
    if (current_pool() != pool_)
      throw std::logic_error(
          "rubato: per_worker::local() outside its pool; call it in pool::run() or in a task");
    auto& here = mine(*current_worker());
    cell* c = here.own(); // written by a thread of this number
    return c != nullptr ? c->value : make_mine(here);
  }

  /// Calls f(T&) for every existing T, on the calling thread, in the order of the threads' numbers. No other
  /// thread may use its T meanwhile.
  template<class F>
  void for_each(F&& f) {
    static_assert(std::is_invocable_v<F&, T&>,
                  "rubato: per_worker::for_each(f): f must be callable as f(T&)");
    if constexpr (std::is_invocable_v<F&, T&>) for_each_cell([&f](cell& c) { std::invoke(f, c.value); });
  }
  /// Returns op(... op(t0, t1) ..., tn) of all existing T, which stay unchanged, or make() if there are none.
  /// No other thread may use its T meanwhile.
  template<class Op>
  [[nodiscard]] T combine(Op&& op) const {
    constexpr bool fits = detail::gives<Op&, T, T, T const&>;
    static_assert(fits, "rubato: per_worker::combine(op): op must be callable as op(T, T const&), and its "
                        "result must convert to T");
    std::optional<T> sum;
    if constexpr (fits)
      for_each_cell([&](cell const& c) {
        if (!sum)
          sum.emplace(c.value);
        else
          *sum = std::invoke(op, std::move(*sum), c.value);
      });
    return sum ? std::move(*sum) : make_();
  }
};

} // namespace rubato
