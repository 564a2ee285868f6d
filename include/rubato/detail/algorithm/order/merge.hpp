// The parallel merge of two sorted ranges into a third one.
#pragma once

#include "rubato/detail/algorithm/fork_attempts.hpp"
#include "rubato/detail/algorithm/order/element_moves.hpp"
#include "rubato/detail/algorithm/order/key_order.hpp"
#include "rubato/detail/algorithm/order/merge_serially.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// As std::mergeable, but comparator and projections are called as const.
template<class I1, class I2, class O, class Comp, class Proj1, class Proj2>
concept mergeable_by = std::mergeable<I1, I2, O, Comp const, Proj1 const, Proj2 const>;

/// `less(r, l)`: does an element of the second range go before one of the first?
template<class Comp, class Proj1, class Proj2>
class cross_order {
  Comp const& comp_;
  Proj1 const& proj1_;
  Proj2 const& proj2_;

public:
  cross_order(Comp const& comp, Proj1 const& proj1, Proj2 const& proj2) noexcept
      : comp_(comp)
      , proj1_(proj1)
      , proj2_(proj2) {}
  template<class R, class L>
  [[gnu::always_inline]] bool operator()(R&& r, L&& l) const {
    return static_cast<bool>(
        std::invoke(comp_, std::invoke(proj2_, std::forward<R>(r)), std::invoke(proj1_, std::forward<L>(l))));
  }
};

/// Merges by halves of the output; the halves of a half are cut from its own parts of both ranges, so every
/// element comes out once whatever less says.
template<class L, class R, class O, class Less>
class forked_merge {
  static constexpr std::ptrdiff_t serial = 1 << 13;
  Less const& less_;
  fork_attempts& tree_;

public:
  forked_merge(Less const& less, fork_attempts& tree) noexcept
      : less_(less)
      , tree_(tree) {}

  static void merge_here(L l, L le, R r, R re, O out, Less const& less) {
    if constexpr (plain_span<L> && std::is_pointer_v<O> &&
                  std::is_same_v<std::iter_value_t<L>, std::iter_value_t<R>> && std::is_pointer_v<R> &&
                  std::is_same_v<std::iter_value_t<L>, std::iter_value_t<O>>) {
      detail::merge_plain(l, le, r, re, out, less);
    } else {
      while (l != le && r != re) {
        if (less(*r, *l)) {
          *out = *r;
          ++r;
        } else {
          *out = *l;
          ++l;
        }
        ++out;
      }
      for (; l != le; ++l, void(), ++out) *out = *l;
      for (; r != re; ++r, void(), ++out) *out = *r;
    }
  }

  void run(context* c, L l, L le, R r, R re, O out) noexcept {
    auto const n = static_cast<std::size_t>(le - l), m = static_cast<std::size_t>(re - r);
    if (tree_.stopped()) return;
    if (c == nullptr || n + m <= serial) {
      static_cast<void>(tree_.attempt([&] { merge_here(l, le, r, re, out, less_); }));
      return;
    }
    std::size_t const half = (n + m) / 2;
    std::size_t left = 0;
    bool const known = tree_.attempt([&] {
      left = detail::cut_of_merge(n, m, half, [&](std::size_t j, std::size_t i) {
        return less_(r[static_cast<std::iter_difference_t<R>>(j)],
                     l[static_cast<std::iter_difference_t<L>>(i)]);
      });
    });
    if (!known) return;
    L const lc = l + static_cast<std::iter_difference_t<L>>(left);
    R const rc = r + static_cast<std::iter_difference_t<R>>(half - left);
    O const oc = out + static_cast<std::iter_difference_t<O>>(half);
    tree_.fork(
        c, [&](context* mine) { run(mine, l, lc, r, rc, out); },
        [&](context* its) { run(its, lc, le, rc, re, oc); });
  }
};

/// Fewer elements are merged by the calling thread.
template<class I>
inline constexpr std::ptrdiff_t merge_alone = plain_span<I> ? 1 << 14 : 2048;

template<class I, class S>
inline constexpr bool cut_anywhere = std::random_access_iterator<I> && std::sized_sentinel_for<S, I>;

/// As std::ranges::merge.
template<class I1, class S1, class I2, class S2, class O, class Comp, class Proj1, class Proj2>
std::ranges::merge_result<I1, I2, O> merge_ranges(pool* p, I1 first1, S1 last1, I2 first2, S2 last2, O out,
                                                  Comp const& comp, Proj1 const& proj1, Proj2 const& proj2) {
  if constexpr (!cut_anywhere<I1, S1> || !cut_anywhere<I2, S2> || !writable_apart<O>) {
    return std::ranges::merge(std::move(first1), std::move(last1), std::move(first2), std::move(last2),
                              std::move(out), std::ref(comp), std::ref(proj1), std::ref(proj2));
  } else {
    auto const n = last1 - first1;
    auto const m = last2 - first2;
    auto const l = detail::bare_iterator(first1);
    auto const r = detail::bare_iterator(first2);
    auto const o = detail::bare_iterator(out);
    cross_order const less(comp, proj1, proj2);
    using merge_type = forked_merge<std::remove_const_t<decltype(l)>, std::remove_const_t<decltype(r)>,
                                    std::remove_const_t<decltype(o)>, decltype(less)>;
    if (n + m < merge_alone<std::remove_const_t<decltype(l)>>)
      merge_type::merge_here(l, l + n, r, r + m, o, less);
    else
      with_fork_attempts(p, false, n + m >= (1 << 16), [&](fork_attempts& tree, context* c) {
        merge_type(less, tree).run(c, l, l + n, r, r + m, o);
      });
    return {first1 + n, first2 + m, out + static_cast<std::iter_difference_t<O>>(n + m)};
  }
}

} // namespace rubato::detail
