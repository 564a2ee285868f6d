// Is a range in order already, or in reverse order? On several threads, in one pass.
#pragma once

#include "rubato/detail/algorithm/fork_tree.hpp"
#include "rubato/detail/algorithm/order/runs.hpp"
#include "rubato/detail/base/atomics.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace rubato::detail {

/// Sorts a range if it is a run.
template<class I, class Less>
class run_sorter {
  using difference = std::iter_difference_t<I>;
  static constexpr std::ptrdiff_t block = 1 << 13; // two of integers fit a core's own cache
  static constexpr std::ptrdiff_t sight = 256;     // random elements show it among the first

  fork_tree const& tree_;
  I first_;
  std::ptrdiff_t n_;
  Less less_;
  relaxed<bool> broken_;

  [[nodiscard]] I at(std::ptrdiff_t i) const { return first_ + static_cast<difference>(i); }
  [[nodiscard]] bool runs(std::ptrdiff_t lo, std::ptrdiff_t hi, run direction) const {
    return detail::is_run(at(lo), static_cast<difference>(hi - lo), direction, less_);
  }
  template<class F>
  void for_blocks_of(context& c, std::ptrdiff_t n, F const& f) {
    tree_.for_each_index(c, 0, static_cast<std::size_t>((n + block - 1) / block), [&](std::size_t b) {
      tree_.throw_if_stopped();
      auto const lo = static_cast<std::ptrdiff_t>(b) * block;
      tree_.attempt([&] { f(lo, std::min<std::ptrdiff_t>(n, lo + block)); });
    });
  }

  [[nodiscard]] bool is_ascending(context& c) {
    for_blocks_of(c, n_, [this](std::ptrdiff_t lo, std::ptrdiff_t hi) {
      if (!broken_.get() && !runs(lo, std::min(n_, hi + 1), run::ascending)) // with the next block's first
        broken_.set(true);
    });
    return !broken_.get();
  }

  /// Where blocks meet that sort_descending() reverses by themselves.
  [[nodiscard]] bool blocks_descend() const {
    for (std::ptrdiff_t lo = block; lo < n_ / 2; lo += block)
      if (!runs(lo - 1, lo + 1, run::descending) || !runs(n_ - lo - 1, n_ - lo + 1, run::descending))
        return false;
    return true;
  }

  /// Reverses the elements while it checks them, block by block from both ends. If they are no run after all,
  /// they end up reversed nevertheless, all of them: what a sort makes of them must not depend on how far the
  /// threads had come.
  [[nodiscard]] bool sort_descending(context& c) {
    if (!tree_.attempt([this] { return blocks_descend(); })) return false;
    std::ptrdiff_t const swaps = n_ / 2;
    for_blocks_of(c, swaps, [this, swaps](std::ptrdiff_t lo, std::ptrdiff_t hi) {
      bool const across = hi != swaps || runs(hi - 1, n_ - hi + 1, run::descending); // the middle
      if (!detail::reverse_if_descending(at(lo), at(n_ - lo), static_cast<difference>(hi - lo), less_,
                                         !across || broken_.get()))
        broken_.set(true);
    });
    return !broken_.get();
  }

public:
  run_sorter(fork_tree const& tree, I first, std::ptrdiff_t n, Less less)
      : tree_(tree)
      , first_(first)
      , n_(n)
      , less_(less) {}

  /// True if the elements were a run, and so are sorted now. False: they may be in another order than before,
  /// which depends on them alone.
  [[nodiscard]] bool operator()(context& c) {
    run const direction = tree_.attempt([this] {
      run const found = detail::direction_of_run(first_, static_cast<difference>(n_), less_);
      return runs(0, std::min(n_, sight), found) ? found : run::none;
    });
    if (direction == run::none) return false;
    return direction == run::descending ? sort_descending(c) : is_ascending(c);
  }
};

/// True if the elements were a run, and so are sorted now.
template<class I, class Less>
[[nodiscard]] bool sort_run(fork_tree const& tree, context& c, I first, std::iter_difference_t<I> n,
                            Less less) {
  return run_sorter<I, Less>(tree, first, n, less)(c);
}

} // namespace rubato::detail
