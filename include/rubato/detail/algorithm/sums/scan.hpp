// The scans: which kernel and which form a call gets.
#pragma once

#include "rubato/detail/algorithm/elements.hpp"
#include "rubato/detail/algorithm/pieces.hpp"
#include "rubato/detail/algorithm/sources.hpp"
#include "rubato/detail/algorithm/sums/reduction.hpp"
#include "rubato/detail/algorithm/sums/scan_blocks.hpp"
#include "rubato/detail/algorithm/sums/scanning.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// The pool of a scan, or null, and whether its bits must not depend on the number of workers.
struct scan_place {
  pool* where;
  bool deterministic = false;

  scan_place(pool* p) // NOLINT(google-explicit-constructor): pool_forms passes a pool
      : where(p) {}
  [[nodiscard]] scan_place deterministically() const noexcept {
    scan_place same = *this;
    same.deterministic = true;
    return same;
  }
};

/// In place of an init that there is not.
struct no_init {};

/// T: what a scan of the elements that I reads is made of.
template<class Init, class Map, class I>
struct scanned {
  using type = Init;
};
template<class Map, class I>
struct scanned<no_init, Map, I> {
  using type = std::remove_cvref_t<std::invoke_result_t<Map const&, std::iter_reference_t<I>>>;
};
template<class I>
struct scanned<no_init, std::identity, I> {
  using type = std::iter_value_t<I>;
};

/// Written and read once, so a block of input and output has its place in the cache beside other things.
template<class T>
[[nodiscard]] constexpr std::uint64_t scan_block(std::uint64_t n, bool brief) noexcept {
  constexpr std::uint64_t most = std::max<std::uint64_t>(1, std::uint64_t{65'536} / sizeof(T));
  return brief ? most : std::clamp<std::uint64_t>(n / 64, 1, most);
}

/// A scan of numbers: serially, and without a pool, up to so many. By an operator that takes no longer than
/// an addition, a thread alone has scanned so many more before another one that it wakes comes.
inline constexpr std::uint64_t brief_scan = 32'768, long_brief_scan = 131'072;

/// The kernel. One addition of integers takes a cycle, so they need no groups.
template<scan_kind Kind, class T, class Source, class Out, class Op>
using scan_kernel =
    std::conditional_t<is_brief<Source, T, Op> && std::is_pointer_v<Out> &&
                           !(std::is_integral_v<T> && has_lanes<Op, T>),
                       scan_in_groups<Kind, T, Source, Out, Op>, scan_in_order<Kind, T, Source, Out, Op>>;

/// True if op combines what a scan of these elements writes. The forms of a scan are told apart by it.
template<class Op, class Init, class Map, class I>
inline constexpr bool scans_by = false;
template<class Op, class Init, class Map, class I>
  requires std::is_invocable_v<Map const&, std::iter_reference_t<I>>
inline constexpr bool scans_by<Op, Init, Map, I> =
    std::is_invocable_v<Op const&, typename scanned<Init, Map, I>::type,
                        typename scanned<Init, Map, I>::type>;

template<scan_kind Kind, class T, class Source, class Out, class Op>
void scan_terms(scan_place at, Source const& source, std::uint64_t n, Out out, Op const& op, T before) {
  using kernel = scan_kernel<Kind, T, Source, Out, Op>;
  constexpr bool brief = is_brief<Source, T, Op> && std::is_pointer_v<Out>; // else a call may be slow
  constexpr bool exact = std::is_integral_v<T> && has_lanes<Op, T>;
  kernel const k{source, out, op};
  std::uint64_t const length = scan_block<T>(n, brief);
  bool const at_once = kernel::is_stable || exact || !at.deterministic;
  if constexpr (brief) {
    if (n <= brief_scan ||
        (has_lanes<Op, T> && at_once && n <= long_brief_scan && detail::sleeps(at.where))) {
      throw_if_stopped();
      for (std::uint64_t lo = 0; lo < n; lo += length) before = k.scan(lo, std::min(n, lo + length), before);
      return;
    }
  }
  detail::on_pool(at.where, [&](thread_context& me) {
    scan_in_blocks<T, kernel>(k, n, length, at_once, std::move(before))(me);
  });
}

template<class T, class Op, class Map, class Out, class Element>
[[nodiscard]] consteval bool can_be_scanned() {
  constexpr bool map_fits = gives<Map const&, T, Element>;
  static_assert(map_fits,
                "rubato: a scan: map must be callable as map(element), and its result must convert to "
                "T, the type of init, or else of the elements");
  if constexpr (map_fits) {
    constexpr bool op_fits = gives<Op const&, T, T, std::invoke_result_t<Map const&, Element>> &&
                             gives<Op const&, T, T const&, std::invoke_result_t<Map const&, Element>> &&
                             gives<Op const&, T, T const&, T>;
    static_assert(op_fits,
                  "rubato: a scan: op must be callable as op(T, T) and as op(T, map(element)), T being "
                  "the type of init, or else of the elements, and its result must convert to T");
    constexpr bool can_write = written_with<Out, T const&>;
    static_assert(can_write, "rubato: a scan: its results must be assignable to *out");
    return op_fits && can_write && std::copy_constructible<T>;
  } else {
    return false;
  }
}

/// The first term is what comes before the second one, if there is no init.
template<scan_kind Kind, class R, class Out, class Op, class Map, class Init>
Out scan_range(scan_place at, R& range, Out out, Op const& op, Map const& map, Init init) {
  using element = std::ranges::range_reference_t<R&>;
  using value = typename scanned<Init, Map, std::ranges::iterator_t<R&>>::type;
  if constexpr (!can_be_scanned<value, Op, Map, Out, element>()) {
    return out;
  } else if constexpr (splittable<R&> && splittable_output<Out>) {
    using difference = std::iter_difference_t<Out>;
    auto const n = static_cast<std::uint64_t>(std::ranges::size(range));
    if (n == 0) return out;
    auto const first = std::ranges::begin(range);
    auto const to = detail::as_pointer(out, n);
    if constexpr (!std::is_same_v<Init, no_init>) {
      detail::scan_terms<Kind>(at, detail::terms_of(first, n, map), n, to, op, value(std::move(init)));
    } else {
      throw_if_stopped();
      value before = static_cast<value>(std::invoke(map, *first));
      *to = std::as_const(before);
      if (n != 1)
        detail::scan_terms<Kind>(at, detail::terms_of(std::ranges::next(first), n - 1, map), n - 1, to + 1,
                                 op, std::move(before));
    }
    return out + static_cast<difference>(n);
  } else {
    detail::on_this_thread(at.where, [&](auto throw_if_over) {
      auto i = std::ranges::begin(range);
      auto const end = std::ranges::end(range);
      if (i == end) return;
      auto const go_on = [&](value before) {
        for (; i != end; ++i, void(), ++out) {
          throw_if_over();
          if constexpr (Kind == scan_kind::inclusive) {
            before = detail::combined<value>(op, std::move(before), std::invoke(map, *i));
            *out = std::as_const(before);
          } else {
            value next = detail::combined<value>(op, std::as_const(before), std::invoke(map, *i));
            *out = std::as_const(before);
            before = std::move(next);
          }
        }
      };
      if constexpr (!std::is_same_v<Init, no_init>) {
        go_on(std::move(init));
      } else {
        throw_if_over();
        value before = static_cast<value>(std::invoke(map, *i));
        *out = std::as_const(before);
        ++i;
        ++out;
        go_on(std::move(before));
      }
    });
    return out;
  }
}

} // namespace rubato::detail
