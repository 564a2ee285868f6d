// The objects of a per_worker.
#pragma once

#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/work/callable.hpp"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// One T per number of a thread, made when it is needed.
template<class T>
class worker_cells {
  struct alignas(64) cell { // never in a coroutine
    T value;                // on a cache line of its own
  };

  // There may be many slots, few of them used: pointers to the cells of the first threads are at hand, those
  // to others stand in chunks, which are made when needed.
  static constexpr unsigned at_hand = 64, per_chunk = 512;
  struct chunk {
    std::array<published<cell*>, per_chunk> cells{};
  };

  std::array<cell*, at_hand> first_{}; // not atomic, so a compiler may look once per loop: at_hand_of()
  std::function<T()> make_;
  unsigned chunk_count_;
  std::unique_ptr<published<chunk*>[]> chunks_;

  template<class F>
  void for_each_cell(F f) const {
    for (cell* const c : first_)
      if (c != nullptr) f(*c);
    for (unsigned k = 0; k != chunk_count_; ++k) {
      chunk const* const some = chunks_[k].get();
      if (some == nullptr) continue;
      for (auto const& one : some->cells)
        if (cell* const c = one.get()) f(*c);
    }
  }

  published<cell*>& mine(unsigned worker) {
    auto& slot = chunks_[worker / per_chunk];
    chunk* some = slot.get();
    if (some == nullptr) {
      auto made = std::make_unique<chunk>();
      some = slot.try_publish(made.get());
      if (some == made.get()) static_cast<void>(made.release());
    }
    return some->cells[worker % per_chunk];
  }

  T& make_mine(published<cell*>& here) {
    std::unique_ptr<cell> made(new cell{make_()});
    // If make() waits, a job that this thread runs meanwhile may have made the cell.
    cell* c = here.own();
    if (c == nullptr) {
      c = made.release();
      here.publish(c);
    }
    return c->value;
  }

  [[gnu::noinline]] T& of_any(unsigned worker) {
    if (worker < at_hand) {
      std::unique_ptr<cell> made(new cell{make_()});
      cell*& here = first_[worker];
      if (here == nullptr) here = made.release(); // as in make_mine()
      return here->value;
    }
    auto& here = mine(worker);
    cell* const c = here.own();
    return c != nullptr ? c->value : make_mine(here);
  }

public:
  template<class Make>
  worker_cells(unsigned slots, Make&& make)
      : make_([made = std::make_shared<std::decay_t<Make>>(std::forward<Make>(make))]() -> T {
        constexpr bool fits = std::is_invocable_r_v<T, std::decay_t<Make>&>;
        static_assert(fits,
                      "rubato: per_worker(pool, make): make must be callable as make(), and return a T");
        if constexpr (fits)
          return std::invoke(*made);
        else
          return refused();
      })
      , chunk_count_(slots / per_chunk + 1)
      , chunks_(std::make_unique<published<chunk*>[]>(chunk_count_)) {}
  ~worker_cells() {
    for_each_cell([](cell& c) { delete &c; });
    for (unsigned k = 0; k != chunk_count_; ++k) delete chunks_[k].own();
  }

  /// The calling thread's T, by its number, or null if it is not at hand. In a loop it is asked for with each
  /// element. Threads of one number come one after the other, and for_each() comes when no thread uses its T.
  [[nodiscard]] [[gnu::always_inline]] T* at_hand_of(unsigned worker) const noexcept {
    cell* const c = worker < at_hand ? first_[worker] : nullptr;
    return c != nullptr ? std::addressof(c->value) : nullptr;
  }
  [[nodiscard]] T& of(unsigned worker) {
    T* const t = at_hand_of(worker);
    return t != nullptr ? *t : of_any(worker);
  }
  template<class F>
  void for_each(F& f) {
    for_each_cell([&f](cell& c) { std::invoke(f, c.value); });
  }
  template<class Op>
  [[nodiscard]] T combine(Op& op) const {
    constexpr bool fits = gives<Op&, T, T, T const&>;
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

} // namespace rubato::detail
