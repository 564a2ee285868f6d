// Keeps some of the elements of a range, in their order: each piece of the range closes its own gaps, and
// then the pieces close up. docs/design/algorithms.md
#pragma once

#include "rubato/detail/algorithm/fork_tree.hpp"
#include "rubato/detail/algorithm/order/element_moves.hpp"
#include "rubato/detail/algorithm/order/key_order.hpp"
#include "rubato/detail/algorithm/order/share_out.hpp"
#include "rubato/detail/algorithm/pieces.hpp"
#include "rubato/detail/fork/loop.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Which elements stay, each looked at once, from left to right: those for which the test gives `Wanted`.
template<bool Wanted, class Test>
struct keep_where {
  Test const& test;
  /// `before`: the element before this one, or the one that stays before it.
  template<class A, class B>
  [[nodiscard]] bool stays(A&& /*before*/, B&& x) const {
    return test(std::forward<B>(x)) == Wanted;
  }
  static constexpr bool compares = false;
};

/// The first one, and those that do not equal the one before them.
template<class Same>
struct keep_first {
  Same const& same;
  template<class A, class B>
  [[nodiscard]] bool stays(A&& before, B&& x) const {
    return !same(std::forward<A>(before), std::forward<B>(x));
  }
  static constexpr bool compares = true;
};

/// A part of the range, from left to right: [begin, end) stays, and the elements between `end` and `next` do
/// not, or were moved away. If those that do not stay are kept in memory, they are there at `begin` and on.
struct kept_part {
  std::uint64_t begin = 0, end = 0, next = 0;
  [[nodiscard]] std::uint64_t gone() const noexcept { return next - end; }
};

/// What closes the gaps of a range. Memory: null, or room for all elements, where those go that do not stay.
///
/// Without memory, plain data is copied over the elements that do not stay. Other elements change places with
/// them, so that each of them is there once whatever throws.
template<class I, class Keep, bool Saves>
class gap_closer {
  using value = std::iter_value_t<I>;
  using difference = std::iter_difference_t<I>;
  static constexpr bool plain = plain_span<I>;

  I first_;
  value* memory_;
  Keep const& keep_;

  [[nodiscard]] I at(std::uint64_t i) const { return first_ + static_cast<difference>(i); }

  void close_plain(kept_part& part, std::uint64_t hi) const {
    // The element before i is still in its place: what is written is at most where it is read.
    value* out = at(part.end);
    value* i = at(part.next);
    value* const last = at(hi);
    if constexpr (Saves) {
      value* saved = memory_ + part.begin + part.gone();
      try {
        for (; i != last; ++i) { // to both places: no branch
          bool const stays = keep_.stays(*i, *i);
          *out = *saved = *i;
          out += stays;
          saved += !stays;
        }
      } catch (...) {
        part.end = static_cast<std::uint64_t>(out - first_);
        part.next = static_cast<std::uint64_t>(i - first_);
        throw;
      }
    } else {
      for (; i != last; ++i) {
        bool const stays = keep_.stays(*(i - Keep::compares), *i);
        *out = *i;
        out += stays;
      }
    }
    part.end = static_cast<std::uint64_t>(out - first_);
    part.next = hi;
  }

public:
  gap_closer(I first, value* memory, Keep const& keep) noexcept
      : first_(first)
      , memory_(memory)
      , keep_(keep) {}

  /// Closes the gaps of [next, hi) behind those of the part before it.
  void close(kept_part& part, std::uint64_t hi) const {
    if (Keep::compares && part.begin == part.end && part.next != hi) {
      ++part.next; // the first one stays: it is compared with the one before when all parts are done
      ++part.end;
    }
    if constexpr (plain) {
      close_plain(part, hi);
    } else {
      for (; part.next != hi; ++part.next) {
        I const i = at(part.next);
        if (!keep_.stays(*at(part.end - Keep::compares), *i)) {
          if constexpr (Saves)
            std::construct_at(memory_ + part.begin + part.gone(), std::ranges::iter_move(i));
          continue;
        }
        if (part.end != part.next) {
          if constexpr (Saves)
            *at(part.end) = std::ranges::iter_move(i);
          else
            detail::swap_elements(at(part.end), i);
        }
        ++part.end;
      }
    }
  }

  /// Where two parts meet: does the first element of the second one go too?
  [[nodiscard]] bool goes_behind(std::uint64_t end, kept_part const& part) const {
    if constexpr (Keep::compares)
      return end != 0 && !keep_.stays(*at(end - 1), *at(part.begin));
    else
      return false;
  }

  /// Moves the elements of a part that stay to `to` and on, which is not behind them.
  void move_down(kept_part const& part, std::uint64_t to, sure_moves& moves) const {
    if (to == part.begin) return;
    I from = at(part.begin), out = at(to);
    if constexpr (plain) {
      std::copy(from, at(part.end), out);
    } else if constexpr (Saves) {
      for (auto n = part.end - part.begin; n != 0; --n, void(), ++out, void(), ++from)
        moves([&] { *out = std::ranges::iter_move(from); });
    } else {
      for (auto n = part.end - part.begin; n != 0; --n) detail::swap_elements(out++, from++);
    }
  }

  /// Moves the n elements from `from` on of the memory to `to` and on.
  void bring(std::uint64_t from, std::uint64_t n, std::uint64_t to, sure_moves& moves) const {
    if constexpr (plain) {
      std::copy_n(memory_ + from, n, at(to));
    } else {
      I out = at(to);
      for (; n != 0; --n, void(), ++from, void(), ++out) {
        moves([&] { *out = std::move(memory_[from]); });
        std::destroy_at(memory_ + from);
      }
    }
  }
};

/// The body of a loop that closes gaps: a part for each piece of the loop, as a reduction has a sum.
template<class I, class Keep, bool Saves>
class gap_closing {
public:
  struct cell {
    kept_part part{};
    bool begun = false;
    cell* next = nullptr; // changed under the lock of the chain that holds this cell's piece
  };
  loop_root root;

  static constexpr std::uint64_t block = 512;

  /// What is before head.next is done.
  gap_closing(thread_context& me, gap_closer<I, Keep, Saves> const& closer, std::uint64_t n,
              kept_part const& head)
      : root(me)
      , closer_(closer)
      , n_(n)
      , offset_(head.next) {
    head_.part = head;
    head_.begun = true;
  }
  gap_closing(gap_closing const&) = delete;
  ~gap_closing() {
    for (cell* c = head_.next; c != nullptr;) delete std::exchange(c, c->next);
  }

  cell* first_cell(std::uint64_t base) {
    if (base == 0) return &head_;
    cell* last = &head_;
    while (last->next != nullptr) last = last->next;
    return last->next = new cell;
  }
  cell* next_cell(cell* c) noexcept {
    cell* const made = new (std::nothrow) cell;
    if (made != nullptr) made->next = std::exchange(c->next, made);
    return made;
  }
  void drop_cell(cell* c, cell* made) noexcept {
    c->next = made->next;
    delete made;
  }
  void operator()(cell& c, thread_context&, std::uint64_t lo, std::uint64_t hi) {
    std::uint64_t const begin = offset_ + lo * block;
    if (!std::exchange(c.begun, true)) c.part = {begin, begin, begin};
    closer_.close(c.part, std::min(n_, offset_ + hi * block));
  }

  /// After the loop has ended early: what is in the memory fills the gaps.
  void undo() noexcept {
    sure_moves moves;
    if constexpr (Saves)
      for (cell* c = &head_; c != nullptr; c = c->next)
        closer_.bring(c->part.begin, c->part.gone(), c->part.end, moves);
  }

  /// When all pieces have ended: moves the parts together, and behind them what is in the memory. Returns how
  /// many elements stay.
  std::uint64_t close_up(context& c) {
    std::uint64_t end = 0;
    sure_moves moves;
    for (cell* one = &head_; one != nullptr; one = one->next) {
      kept_part part = one->part;
      if (part.begin == part.end) continue;
      if (closer_.goes_behind(end, part)) ++part.begin;
      closer_.move_down(part, end, moves);
      end += part.end - part.begin;
    }
    if constexpr (Saves) {
      constexpr std::uint64_t many = 1 << 15;
      fork_tree const tree(root);
      std::uint64_t to = end;
      for (cell* one = &head_; one != nullptr; one = one->next) {
        kept_part const part = one->part;
        if (part.gone() < many || !plain_span<I>)
          closer_.bring(part.begin, part.gone(), to, moves);
        else
          tree.for_each_index(c, 0, (part.gone() + many - 1) / many, [&](std::size_t b) {
            std::uint64_t const done = b * many;
            sure_moves none;
            closer_.bring(part.begin + done, std::min(many, part.gone() - done), to + done, none);
          });
        to += part.gone();
      }
    }
    moves.throw_first();
    return end;
  }

private:
  gap_closer<I, Keep, Saves> const& closer_;
  std::uint64_t n_, offset_;
  cell head_;
};

/// Moves those of n elements that stay to the front, and, if there is memory for them, the others behind
/// them. Returns how many stay. The pool is looked up only if the first elements show that the others will
/// take a while.
template<bool Saves, class I, class Keep>
std::uint64_t keep_elements(pool* p, I begin, std::uint64_t n, std::iter_value_t<I>* memory,
                            Keep const& keep) {
  constexpr std::uint64_t first_ones = 1024;
  auto const first = detail::bare_iterator(begin);
  using iterator = std::remove_const_t<decltype(first)>;
  gap_closer<iterator, Keep, Saves> const closer(first, memory, keep);
  kept_part head;
  auto const undo = [&]() noexcept {
    sure_moves moves;
    if constexpr (Saves) closer.bring(0, head.gone(), head.end, moves);
  };
  bool here = n <= first_ones || !writable_apart<I>;
  try {
    if (!here) {
      throw_if_stopped();
      std::int64_t const start = tick_count();
      closer.close(head, first_ones);
      here = !detail::is_worth_sharing(n - first_ones, first_ones, tick_count() - start);
    }
    if (here) closer.close(head, n);
  } catch (...) {
    undo();
    throw;
  }
  if (here) {
    sure_moves moves;
    if constexpr (Saves) closer.bring(0, head.gone(), head.end, moves);
    moves.throw_first();
    return head.end;
  }
  bool entered = false;
  try {
    return detail::on_pool(p, [&](thread_context& me) {
      using body_type = gap_closing<iterator, Keep, Saves>;
      body_type body(me, closer, n, head);
      entered = true;
      try {
        detail::run_loop(me, body, (n - first_ones + body_type::block - 1) / body_type::block);
      } catch (...) {
        body.undo();
        throw;
      }
      return body.close_up(me.stayed());
    });
  } catch (...) {
    if (!entered) undo(); // there is no pool
    throw;
  }
}

} // namespace rubato::detail
