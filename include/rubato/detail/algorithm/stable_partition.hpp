// The stable partition: out to memory, block by block, and back to where each element belongs.
// docs/design/algorithms.md
#pragma once

#include "rubato/detail/algorithm/blocks.hpp"
#include "rubato/detail/algorithm/element_moves.hpp"
#include "rubato/detail/algorithm/fork_attempts.hpp"
#include "rubato/detail/algorithm/key_order.hpp"
#include "rubato/detail/algorithm/merge_in_place.hpp"
#include "rubato/detail/algorithm/raw_memory.hpp"
#include "rubato/detail/algorithm/test_of.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

namespace rubato::detail {

/// The stable partition without memory: halves, and a rotation for each. Returns where the second group
/// begins. Forward iterators; calls the predicate once for each element.
template<class I, class Pred>
I stable_partition_in_place(I first, std::iter_difference_t<I> n, Pred const& pred) {
  if (n == 0) return first;
  if (n == 1) return pred(*first) ? std::ranges::next(first) : first;
  I const middle = std::ranges::next(first, n / 2);
  I const left = detail::stable_partition_in_place(first, n / 2, pred);
  I const right = detail::stable_partition_in_place(middle, n - n / 2, pred);
  return detail::rotate_safely(left, middle, right);
}

/// Partitions n elements with memory for as many. First each block is moved out to its place in the memory:
/// the elements for which the predicate holds from the front on, the others from the back on. Then all
/// elements move to where they belong. Plain data is copied out, and stays in the range meanwhile.
template<class I, class Pred>
class stable_partitioner {
  using value = std::iter_value_t<I>;
  using difference = std::iter_difference_t<I>;
  static constexpr bool plain = plain_span<I>;
  static constexpr std::size_t most_blocks = 128, least_block = 1024;

  struct counts {
    std::size_t held = 0, others = 0;
  };
  I first_;
  std::size_t n_;
  value* memory_;
  Pred const& pred_;
  std::size_t block_;
  std::size_t blocks_;
  std::array<counts, most_blocks> out_{}; // what is in the memory, of each block

  [[nodiscard]] I at(std::size_t i) const { return first_ + static_cast<difference>(i); }
  [[nodiscard]] std::size_t end_of(std::size_t b) const { return std::min(n_, (b + 1) * block_); }

  void move_out(std::size_t b) {
    std::size_t i = b * block_;
    std::size_t const end = end_of(b);
    value *front = memory_ + i, *back = memory_ + end;
    I from = at(i);
    if constexpr (plain) {
      for (; i != end; ++i, ++from) { // to both places: no branch
        bool const holds = pred_(*from);
        *front = *from;
        *(back - 1) = *from;
        front += holds;
        back -= !holds;
      }
      out_[b] = {static_cast<std::size_t>(front - (memory_ + b * block_)),
                 static_cast<std::size_t>(memory_ + end - back)};
    } else {
      counts& out = out_[b];
      for (; i != end; ++i, ++from) {
        if (pred_(*from)) {
          std::construct_at(front, std::ranges::iter_move(from));
          ++front;
          ++out.held;
        } else {
          std::construct_at(back - 1, std::ranges::iter_move(from));
          --back;
          ++out.others;
        }
      }
    }
  }

  /// Moves elements out of the memory, forwards or backwards, to `to` and on, and ends their lives there.
  template<class J>
  static void bring(J from, std::size_t n, I to) {
    if constexpr (plain) {
      std::copy_n(from, n, to);
    } else {
      for (; n != 0; --n, ++to) {
        move_at_last([&] { *to = std::move(*from); });
        std::destroy_at(std::addressof(*from));
        ++from;
      }
    }
  }
  void bring_to(std::size_t b, std::size_t held_to, std::size_t others_to) {
    counts const out = std::exchange(out_[b], {});
    bring(memory_ + b * block_, out.held, at(held_to));
    bring(std::make_reverse_iterator(memory_ + end_of(b)), out.others, at(others_to));
  }

  /// An element of the range that is not in the memory is alive where it was. After a failure all are.
  void bring_back() noexcept {
    if constexpr (!plain)
      for (std::size_t b = 0; b != blocks_; ++b) {
        std::size_t const begin = b * block_;
        bring_to(b, begin, begin + out_[b].held);
      }
  }

public:
  stable_partitioner(I first, std::size_t n, value* memory, Pred const& pred)
      : first_(first)
      , n_(n)
      , memory_(memory)
      , pred_(pred)
      , block_(std::max(least_block, (n + most_blocks - 1) / most_blocks))
      , blocks_((n + block_ - 1) / block_) {}

  /// Returns how many elements the predicate holds for. `each(f)`: calls f for intervals that make up all
  /// blocks.
  template<class Each>
  std::size_t run(Each const& each) {
    try {
      each(blocks_, [this](std::size_t lo, std::size_t hi) {
        for (; lo != hi; ++lo) move_out(lo);
      });
    } catch (...) {
      bring_back();
      throw;
    }
    std::size_t held = 0, others = 0;
    std::array<counts, most_blocks> to; // where the elements of each block go
    for (std::size_t b = 0; b != blocks_; ++b) {
      to[b] = {held, others};
      held += out_[b].held;
      others += out_[b].others;
    }
    try {
      each(blocks_, [&](std::size_t lo, std::size_t hi) {
        for (; lo != hi; ++lo) bring_to(lo, to[lo].held, held + to[lo].others);
      });
    } catch (...) { // stopped: the rest is done by this thread, which calls nothing
      for (std::size_t b = 0; b != blocks_; ++b) bring_to(b, to[b].held, held + to[b].others);
      throw;
    }
    return held;
  }
};

inline constexpr std::size_t stable_partition_alone = 2048; // fewer are left to the calling thread

/// Returns the first element for which the predicate does not hold.
template<class I, class Pred, class Proj>
I stable_partition_range(pool* p, I begin, I end, Pred const& pred, Proj const& proj) {
  test_of const test(pred, proj);
  if constexpr (bit_iterator<I>) {
    return std::partition(begin, end, test); // equal bits are alike
  } else if constexpr (!std::random_access_iterator<I>) {
    return detail::stable_partition_in_place(begin, std::ranges::distance(begin, end), test);
  } else {
    auto const first = bare_iterator(begin);
    auto const n = static_cast<std::size_t>(end - begin);
    raw_memory<std::iter_value_t<I>> const memory(n);
    if (n < 2 || memory.get() == nullptr)
      return begin + (detail::stable_partition_in_place(first, end - begin, test) - first);
    stable_partitioner work(first, n, memory.get(), test);
    std::size_t held = 0;
    if (n < stable_partition_alone || !writable_apart<I>)
      held = work.run([](std::size_t blocks, auto const& f) { f(std::size_t{0}, blocks); });
    else
      held = on_pool(p, [&](thread_context&) {
        return work.run([](std::size_t blocks, auto const& f) {
          for_blocks(nullptr, blocks, 1, [&f](std::uint64_t lo, std::uint64_t hi) {
            f(static_cast<std::size_t>(lo), static_cast<std::size_t>(hi));
          });
        });
      });
    return begin + static_cast<std::iter_difference_t<I>>(held);
  }
}

} // namespace rubato::detail
