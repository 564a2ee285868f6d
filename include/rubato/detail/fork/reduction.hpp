// Reductions: partial results in the order of the range, and trees whose shape depends only on the length.
#pragma once

#include "rubato/detail/fork/loop.hpp"
#include "rubato/detail/fork/range_loop.hpp"
#include "rubato/join.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

namespace rubato {

struct deterministic_t;

namespace detail {

/// The body of a loop that reduces. Each piece has a cell for its partial result. The cells are linked in the
/// order of the range: the cell of a split-off piece comes right behind that of its origin.
template<class I, class T, class Op, class Map>
class reduction {
public:
  struct cell {
    std::optional<T> sum{};
    cell* next = nullptr; // changed under the lock of the chain that holds this cell's piece
  };
  loop_root root;

  reduction(thread_context& me, I first, Op& op, Map& map)
      : root(me)
      , begin_(first)
      , op_(op)
      , map_(map) {}
  reduction(reduction const&) = delete;
  ~reduction() {
    for (cell* c = head_.next; c != nullptr;) delete std::exchange(c, c->next);
  }

  /// The first cell for each 2^32 elements, when all earlier pieces have ended.
  cell* first_cell(std::uint64_t base) {
    if (base == 0) return &head_;
    return last_first_ = insert_after(last_of_all(), new cell);
  }
  cell* next_cell(cell* c) noexcept {
    cell* const made = new (std::nothrow) cell;
    return made != nullptr ? insert_after(c, made) : nullptr;
  }
  void drop_cell(cell* c, cell* made) noexcept {
    c->next = made->next;
    delete made;
  }

  void operator()(cell& c, thread_context&, std::uint64_t lo, std::uint64_t hi) {
    using difference = std::iter_difference_t<I>;
    I i = begin_ + static_cast<difference>(lo);
    // In a local variable: the compiler cannot keep the cell's sum in a register across op.
    T sum = c.sum.has_value() ? static_cast<T>(std::invoke(op_, std::move(*c.sum), std::invoke(map_, *i)))
                              : static_cast<T>(std::invoke(map_, *i));
    for (++lo, ++i; lo != hi; ++lo, ++i)
      sum = static_cast<T>(std::invoke(op_, std::move(sum), std::invoke(map_, *i)));
    c.sum.emplace(std::move(sum));
  }

  T fold(T init) {
    for (cell* c = &head_; c != nullptr; c = c->next)
      if (c->sum.has_value()) init = static_cast<T>(std::invoke(op_, std::move(init), std::move(*c->sum)));
    return init;
  }

private:
  I begin_;
  Op& op_;
  Map& map_;
  cell head_;
  cell* last_first_ = &head_;

  static cell* insert_after(cell* c, cell* made) noexcept {
    made->next = c->next;
    c->next = made;
    return made;
  }
  cell* last_of_all() noexcept {
    cell* c = last_first_;
    while (c->next != nullptr) c = c->next;
    return c;
  }
};

/// The most elements of a leaf: enough leaves to share, each long enough to vectorise. Depends only on the
/// length.
[[nodiscard]] constexpr std::uint64_t leaf_of(std::uint64_t n) noexcept {
  return n < 1024 * 1024 ? (n + 1023) / 1024 : 1024;
}

template<class I, class T, class Op, class Map>
struct reduction_tree {
  I begin;
  Op& op;
  Map& map;
  std::uint64_t n;
  loop_root* root;
  std::uint64_t leaf = leaf_of(n);

  T operator()(context& c, std::uint64_t lo, std::uint64_t hi) const {
    if (root->stopped()) throw cancelled(); // the root knows the reason
    if (is_leaf(lo, hi)) return add_up(lo, hi);
    std::uint64_t const middle = lo + (hi - lo) / 2;
    auto halves = join_fn{}(
        c, [&, this](context& mine) -> T { return (*this)(mine, lo, middle); },
        [&, this](context& its) -> T {
          if (its.migrated()) [[unlikely]]
            return elsewhere(its, middle, hi);
          return (*this)(its, middle, hi);
        });
    return static_cast<T>(std::invoke(op, std::move(halves.first), std::move(halves.second)));
  }

private:
  /// One thread runs a leaf, so leaves shrink towards the end, as the chunks of any loop. Depends on the
  /// length and the place alone.
  [[nodiscard]] bool is_leaf(std::uint64_t lo, std::uint64_t hi) const noexcept {
    std::uint64_t const size = hi - lo;
    return size <= leaf && (size == 1 || size <= (n - lo) / 64);
  }

  [[gnu::noinline]] T elsewhere(context& c, std::uint64_t lo, std::uint64_t hi) const {
    fp_modes_in_force const modes(root->modes());
    return (*this)(c, lo, hi);
  }

  T add_up(std::uint64_t lo, std::uint64_t hi) const {
    std::exception_ptr error;
    try {
      I i = begin + static_cast<std::iter_difference_t<I>>(lo);
      T sum = static_cast<T>(std::invoke(map, *i));
      for (++lo, ++i; lo != hi; ++lo, ++i)
        sum = static_cast<T>(std::invoke(op, std::move(sum), std::invoke(map, *i)));
      return sum;
    } catch (...) {
      error = std::current_exception();
    }
    root->fail(error);
    std::rethrow_exception(std::move(error));
  }
};

/// True if init and op have changed places, or a tag is not where it belongs.
template<class Element, class T, class Op, class Map>
inline constexpr bool are_swapped =
    std::is_same_v<T, deterministic_t> || std::is_same_v<Map, deterministic_t> ||
    (std::is_invocable_v<T&, Element, Element> && !std::is_invocable_v<Op&, T, T>);

/// True if op and map fit a reduction; otherwise an assertion fails with a message.
template<class R, class T, class Op, class Map>
[[nodiscard]] consteval bool can_be_reduced() {
  using element = std::ranges::range_reference_t<R&>;
  constexpr bool map_fits = gives<Map&, T, element>;
  static_assert(map_fits, "rubato: reduce(range, init, op, map): map must be callable as map(element), and "
                          "its result must convert to T, the type of init");
  if constexpr (map_fits) {
    // A range that is not split has only one partial result.
    constexpr bool op_fits =
        gives<Op&, T, T, std::invoke_result_t<Map&, element>> && (!splittable<R&> || gives<Op&, T, T, T>);
    static_assert(op_fits, "rubato: reduce(range, init, op, map): op must be callable as op(T, T) and as "
                           "op(T, map(element)), T being the type of init, and its result must convert to T");
    return op_fits;
  } else {
    return false;
  }
}

template<class R, class T, class Op, class Map>
T reduce_range(pool* p, R& range, T init, Op& op, Map& map) {
  if constexpr (!can_be_reduced<R, T, Op, Map>()) {
    return init;
  } else if constexpr (splittable<R&>) {
    auto const n = static_cast<std::uint64_t>(std::ranges::size(range));
    if (n == 0) return init;
    auto const first = std::ranges::begin(range);
    return on_pool(p, [&](thread_context& me) -> T {
      reduction<std::remove_const_t<decltype(first)>, T, Op, Map> body(me, first, op, map);
      run_loop(me, body, n);
      return body.fold(std::move(init));
    });
  } else {
    auto const work = [&](thread_context& me) -> T {
      stop_around const stop(me);
      for (auto&& x : range) {
        if (stop.stopped()) throw cancelled();
        init =
            static_cast<T>(std::invoke(op, std::move(init), std::invoke(map, std::forward<decltype(x)>(x))));
      }
      return std::move(init);
    };
    return p == nullptr ? work(*current) : on_pool(p, work);
  }
}

template<class R, class T, class Op, class Map>
T reduce_tree(pool* p, R& range, T init, Op& op, Map& map) {
  if constexpr (!can_be_reduced<R, T, Op, Map>()) {
    return init;
  } else {
    auto const n = static_cast<std::uint64_t>(std::ranges::size(range));
    if (n == 0) return init;
    auto const first = std::ranges::begin(range);
    T sum = on_pool(p, [&](thread_context& me) -> T {
      loop_root root(me);
      token_in_force const token(me.chain, &root.stop());
      reduction_tree<std::remove_const_t<decltype(first)>, T, Op, Map> const tree{first, op, map, n, &root};
      try {
        return tree(me.stayed(), 0, n);
      } catch (...) {
        root.throw_first(); // not the exception of a branch that was only stopped
        throw;
      }
    });
    return static_cast<T>(std::invoke(op, std::move(init), std::move(sum)));
  }
}

} // namespace detail

} // namespace rubato
