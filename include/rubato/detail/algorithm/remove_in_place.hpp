// remove_if and unique: each piece of the range closes its own gaps, and then the pieces close up.
// docs/design/algorithms.md
#pragma once

#include "rubato/detail/algorithm/element_moves.hpp"
#include "rubato/detail/algorithm/key_order.hpp"
#include "rubato/detail/algorithm/partition.hpp"
#include "rubato/detail/algorithm/share_out.hpp"
#include "rubato/detail/algorithm/test_of.hpp"
#include "rubato/detail/fork/loop.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <ranges>
#include <utility>

namespace rubato::detail {

/// Which elements stay, each looked at once, from left to right: those for which the test does not hold.
template<class Test>
struct keep_unless {
  Test const& test;
  /// `before`: the element before this one, or the one that stays before it.
  template<class A, class B>
  [[nodiscard]] bool stays(A&& /*before*/, B&& x) const {
    return !test(std::forward<B>(x));
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
/// not, or were moved away.
struct kept_part {
  std::uint64_t begin = 0, end = 0, next = 0;
};

/// Closes the gaps of [next, hi) behind those of the part before it. Plain data is copied over the elements
/// that do not stay; other elements change places with them, so that each of them is there once whatever
/// throws.
template<class I, class Keep>
void close_gaps(I first, kept_part& part, std::uint64_t hi, Keep const& keep) {
  using difference = std::iter_difference_t<I>;
  auto const at = [first](std::uint64_t i) { return first + static_cast<difference>(i); };
  if (Keep::compares && part.begin == part.end && part.next != hi) {
    ++part.next; // the first one stays: it is compared with the one before when all parts are done
    ++part.end;
  }
  if constexpr (plain_span<I>) {
    auto* out = at(part.end);
    // The element before i is still in its place: what is written is at most where it is read.
    for (auto* i = at(part.next); i != at(hi); ++i) {
      bool const stays = keep.stays(*(i - Keep::compares), *i);
      *out = *i;
      out += stays;
    }
    part.end = static_cast<std::uint64_t>(out - first);
    part.next = hi;
  } else {
    for (; part.next != hi; ++part.next) {
      if (!keep.stays(*at(part.end - Keep::compares), *at(part.next))) continue;
      if (part.end != part.next) detail::swap_elements(at(part.end), at(part.next));
      ++part.end;
    }
  }
}

/// Moves the elements of a part that stay to `to` and on, which is not behind it.
template<class I>
void move_down(I first, kept_part const& part, std::uint64_t to) {
  using difference = std::iter_difference_t<I>;
  if (to == part.begin) return;
  I from = first + static_cast<difference>(part.begin), out = first + static_cast<difference>(to);
  if constexpr (plain_span<I>) {
    std::copy(from, first + static_cast<difference>(part.end), out);
  } else {
    for (auto n = part.end - part.begin; n != 0; --n) detail::swap_elements(out++, from++);
  }
}

/// The body of a loop that closes gaps: a part for each piece of the loop, as a reduction has a sum.
template<class I, class Keep>
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
  gap_closing(thread_context& me, I first, std::uint64_t n, kept_part const& head, Keep const& keep)
      : root(me)
      , first_(first)
      , n_(n)
      , offset_(head.next)
      , keep_(keep) {
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
    close_gaps(first_, c.part, std::min(n_, offset_ + hi * block), keep_);
  }

  /// When all pieces have ended: moves the parts together. Returns how many elements stay.
  std::uint64_t close_up() {
    using difference = std::iter_difference_t<I>;
    std::uint64_t end = 0;
    for (cell* c = &head_; c != nullptr; c = c->next) {
      kept_part& part = c->part;
      if (part.begin == part.end) continue;
      I const i = first_ + static_cast<difference>(part.begin);
      if (Keep::compares && end != 0 && !keep_.stays(*(first_ + static_cast<difference>(end - 1)), *i))
        ++part.begin;
      move_down(first_, part, end);
      end += part.end - part.begin;
    }
    return end;
  }

private:
  I first_;
  std::uint64_t n_, offset_;
  Keep const& keep_;
  cell head_;
};

/// Closes the gaps of n elements; returns how many stay. The pool is looked up only if the first elements
/// show that the others will take a while.
template<class I, class Keep>
std::uint64_t keep_elements(pool* p, I begin, std::uint64_t n, Keep const& keep) {
  constexpr std::uint64_t first_ones = 1024;
  auto const first = bare_iterator(begin);
  kept_part head;
  if (n > first_ones && writable_apart<I>) {
    throw_if_stopped();
    std::int64_t const start = tick_count();
    close_gaps(first, head, first_ones, keep);
    if (is_worth_sharing(n - first_ones, first_ones, tick_count() - start))
      return on_pool(p, [&](thread_context& me) {
        using body_type = gap_closing<std::remove_const_t<decltype(first)>, Keep>;
        body_type body(me, first, n, head, keep);
        run_loop(me, body, (n - first_ones + body_type::block - 1) / body_type::block);
        return body.close_up();
      });
  }
  close_gaps(first, head, n, keep);
  return head.end;
}

/// Elements of which neighbours can be compared, and that can be moved about.
template<class I, class Comp, class Proj>
concept neighbours_by = (std::permutable<I> || bit_iterator<I>) &&
                        std::indirect_equivalence_relation<Comp const, std::projected<I, Proj const>>;

/// Returns what is to be erased.
template<class I, class S, class Pred, class Proj>
std::ranges::subrange<I> remove_elements(pool* p, I first, S last, Pred const& pred, Proj const& proj) {
  test_of const test(pred, proj);
  I const end = std::ranges::next(first, last);
  if constexpr (bit_iterator<I>) {
    return {std::remove_if(first, end, test), end};
  } else if constexpr (std::random_access_iterator<I>) {
    keep_unless<decltype(test)> const keep{test};
    auto const n = static_cast<std::uint64_t>(end - first);
    return {first + static_cast<std::iter_difference_t<I>>(keep_elements(p, first, n, keep)), end};
  } else {
    return std::ranges::remove_if(first, end, test);
  }
}
template<class I, class S, class Comp, class Proj>
std::ranges::subrange<I> unique_elements(pool* p, I first, S last, Comp const& comp, Proj const& proj) {
  key_order const same(comp, proj);
  I const end = std::ranges::next(first, last);
  if constexpr (bit_iterator<I>) {
    return {std::unique(first, end, same), end};
  } else if constexpr (std::random_access_iterator<I>) {
    keep_first<decltype(same)> const keep{same};
    auto const n = static_cast<std::uint64_t>(end - first);
    return {first + static_cast<std::iter_difference_t<I>>(keep_elements(p, first, n, keep)), end};
  } else {
    return std::ranges::unique(first, end, same);
  }
}

} // namespace rubato::detail
