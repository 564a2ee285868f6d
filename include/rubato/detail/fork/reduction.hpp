// Reductions: partial results in the order of the range, and trees whose shape depends only on the length.
#pragma once

#include "rubato/detail/fork/loop.hpp"
#include "rubato/join.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <utility>

namespace rubato::detail {

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
    T sum = c.sum.has_value() ? take_up(c, i) : static_cast<T>(std::invoke(map_, *i));
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

  T take_up(cell& c, I& i) {
    return static_cast<T>(std::invoke(op_, std::move(*c.sum), std::invoke(map_, *i)));
  }

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

/// Elements per leaf: enough leaves to share, each long enough to vectorise. Depends only on the length.
[[nodiscard]] constexpr std::uint64_t leaf_of(std::uint64_t n) noexcept {
  return std::clamp(n / 1024, std::uint64_t{1}, std::uint64_t{1024});
}

template<class I, class T, class Op, class Map>
struct reduction_tree {
  I begin;
  Op& op;
  Map& map;
  std::uint64_t leaf;

  loop_root* root;

  T operator()(std::uint64_t lo, std::uint64_t hi) const {
    if (root->stopped()) throw cancelled(); // the root knows the reason
    if (hi - lo <= leaf) return add_up(lo, hi);
    std::uint64_t const middle = lo + (hi - lo) / 2;
    auto halves = join_fn{}([&, this]() -> T { return (*this)(lo, middle); },
                            [&, this]() -> T { return (*this)(middle, hi); });
    return static_cast<T>(std::invoke(op, std::move(halves.first), std::move(halves.second)));
  }

private:
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

} // namespace rubato::detail
