// Loops, reductions and scans over bricks: a brick is libstdc++'s serial algorithm for a part of a range.
#pragma once

#include "rubato/detail/algorithm/pieces.hpp"
#include "rubato/detail/algorithm/sums/add_up.hpp"
#include "rubato/detail/algorithm/sums/scan.hpp"
#include "rubato/detail/algorithm/sums/scan_blocks.hpp"
#include "rubato/detail/base/stop_scope.hpp"
#include "rubato/detail/fork/index_loop.hpp"
#include "rubato/detail/work/callable.hpp"
#include "rubato/detail/work/pool_port.hpp"
#include "rubato/detail/work/thread_context.hpp"
#include "rubato/join.hpp"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace rubato::detail::pstl {

/// Calls f(thread_context&) on the current pool. A standard algorithm has no way to end early, and libstdc++
/// ends the program after an exception. So a stop of the task around is not visible in the call.
template<class F>
auto unstopped(F&& f) {
  return detail::on_pool(nullptr, [&f](thread_context& me) {
    fork_scope alone(nullptr);
    token_in_force const token(me.chain, &alone.own);
    return f(me);
  });
}

/// How far an index or an iterator is behind another one.
template<class Index>
[[nodiscard]] std::uint64_t length(Index first, Index last) {
  return first < last ? static_cast<std::uint64_t>(last - first) : 0;
}
template<class Index>
[[nodiscard]] Index ahead(Index first, std::uint64_t n) {
  using difference = decltype(first - first);
  return static_cast<Index>(first + static_cast<difference>(n));
}

/// [0, n) in blocks of nearly equal lengths: enough of them to share, each long enough to be worth a call.
class even_blocks {
  std::uint64_t n_, count_;

public:
  /// At least `least` items in each, if there are as many. n > 0.
  even_blocks(thread_context& me, std::uint64_t n, std::uint64_t least)
      : n_(n) {
    constexpr std::uint64_t worth_a_block = 1024;
    std::uint64_t const workers = std::max(1U, size_of(*me.core));
    std::uint64_t const enough = std::clamp(n / worth_a_block, 4 * workers, 16 * workers);
    count_ = std::clamp(enough, std::uint64_t{1}, std::max(std::uint64_t{1}, n / least));
  }
  [[nodiscard]] std::uint64_t size() const noexcept { return count_; }
  /// Where block b begins, and block b - 1 ends.
  [[nodiscard]] std::uint64_t begin_of(std::uint64_t b) const noexcept {
    return b * (n_ / count_) + std::min(b, n_ % count_);
  }
};

/// Calls f(b) for each block, in parallel.
template<class F>
void for_each_block(std::uint64_t blocks, F const& f) {
  detail::for_chunks(nullptr, blocks, [&f](thread_context&, std::uint64_t lo, std::uint64_t hi) {
    for (; lo != hi; ++lo) f(lo);
  });
}

/// A value per block, not yet there.
template<class T>
[[nodiscard]] std::unique_ptr<std::optional<T>[]> values_of(std::uint64_t blocks) {
  return std::make_unique<std::optional<T>[]>(blocks);
}

/// By std::invoke(), as the serial algorithms do it: for a sum of longs that begins with an int libstdc++
/// itself chooses plus<int>, which is no reason to warn the program.
template<class T, class Op, class A, class B>
T combined_by(Op& op, A&& a, B&& b) {
  return static_cast<T>(std::invoke(op, std::forward<A>(a), std::forward<B>(b)));
}

/// All values in order by a tree of joins: to combine two values may be the longer part of the work, as where
/// a partition exchanges elements. A program's function object may change, so each branch has a copy.
template<class T, class Combine>
T combine_in_order(std::optional<T>* values, std::uint64_t n, Combine combine) {
  if (n == 1) return std::move(**values);
  std::uint64_t const half = n / 2;
  auto halves =
      join_fn{}([&, combine]() -> T { return pstl::combine_in_order<T>(values, half, combine); },
                [&, combine]() -> T { return pstl::combine_in_order<T>(values + half, n - half, combine); });
  return pstl::combined_by<T>(combine, std::move(halves.first), std::move(halves.second));
}

/// Calls f(i, j) for parts of [first, last).
template<class Index, class F>
void for_parts(Index first, Index last, F const& f) {
  std::uint64_t const n = pstl::length(first, last);
  if (n == 0) return;
  pstl::unstopped([&](thread_context&) {
    detail::for_chunks(nullptr, n, [&f, first](thread_context&, std::uint64_t lo, std::uint64_t hi) {
      f(pstl::ahead(first, lo), pstl::ahead(first, hi));
    });
  });
}

/// brick(i, j, identity) of each block, combined in order.
template<class T, class Index, class Brick, class Combine>
T reduce_parts(Index first, Index last, T const& identity, Brick const& brick, Combine const& combine) {
  std::uint64_t const n = pstl::length(first, last);
  if (n == 0) return identity;
  return pstl::unstopped([&](thread_context& me) -> T {
    even_blocks const blocks(me, n, 1);
    auto const values = pstl::values_of<T>(blocks.size());
    pstl::for_each_block(blocks.size(), [&](std::uint64_t b) {
      values[b].emplace(brick(pstl::ahead(first, blocks.begin_of(b)),
                              pstl::ahead(first, blocks.begin_of(b + 1)), identity));
    });
    return pstl::combine_in_order<T>(values.get(), blocks.size(), combine);
  });
}

/// The same without an identity: the first block begins with init, each other one with its first two terms.
template<class T, class Index, class Term, class Brick, class Combine>
T reduce_terms(Index first, Index last, Term const& term, T init, Brick const& brick,
               Combine const& combine) {
  std::uint64_t const n = pstl::length(first, last);
  if (n == 0) return init;
  return pstl::unstopped([&](thread_context& me) -> T {
    even_blocks const blocks(me, n, 2);
    auto const values = pstl::values_of<T>(blocks.size());
    pstl::for_each_block(blocks.size(), [&](std::uint64_t b) {
      Index const i = pstl::ahead(first, blocks.begin_of(b)), j = pstl::ahead(first, blocks.begin_of(b + 1));
      if (b == 0) {
        values[0].emplace(brick(i, j, std::move(init)));
        return;
      }
      Term own_term = term;
      Combine own_combine = combine;
      values[b].emplace(pstl::combined_by<T>(own_combine, own_term(i), own_term(pstl::ahead(i, 1))));
      if (Index const rest = pstl::ahead(i, 2); rest < j)
        values[b].emplace(brick(rest, j, std::move(*values[b])));
    });
    return pstl::combine_in_order<T>(values.get(), blocks.size(), combine);
  });
}

/// `sum` of each block, then `at_end` of all, then `scan` of each block with what is before it: `scan` may
/// write over what `sum` reads, and to where `at_end` has made room.
///
/// The set operations scan values that have an empty(). Theirs say where a block's output lies, `scan`
/// writes that of the block before, and `at_end` that of the last one. An empty value would hide the one
/// before it from `combine`, so blocks that have one take no part.
template<class T, class Index, class Sum, class Combine, class Scan, class AtEnd>
void scan_in_two_passes(Index n, T const& init, Sum const& sum, Combine combine, Scan const& scan,
                        AtEnd at_end) {
  if (n <= 0) {
    at_end(init);
    return;
  }
  pstl::unstopped([&](thread_context& me) {
    even_blocks const blocks(me, static_cast<std::uint64_t>(n), 1);
    std::uint64_t const count = blocks.size();
    auto const values = pstl::values_of<T>(count);
    auto const index = [&blocks](std::uint64_t b) { return static_cast<Index>(blocks.begin_of(b)); };
    auto const items = [&index](std::uint64_t b) { return static_cast<Index>(index(b + 1) - index(b)); };
    pstl::for_each_block(count, [&](std::uint64_t b) { values[b].emplace(sum(index(b), items(b))); });
    T before = init;
    for (std::uint64_t b = 0; b != count; ++b) {
      if constexpr (requires(T const& value) {
                      { value.empty() } -> std::same_as<bool>;
                    })
        if (values[b]->empty()) {
          values[b].reset();
          continue;
        }
      T after = pstl::combined_by<T>(combine, before, *values[b]);
      values[b].emplace(std::exchange(before, std::move(after)));
    }
    at_end(before);
    pstl::for_each_block(count, [&](std::uint64_t b) {
      if (values[b]) scan(index(b), items(b), *values[b]);
    });
  });
}

/// A program's operator for several threads: one whose call may change it is copied for each call.
template<class Op>
struct copied_per_call {
  Op op;
  template<class A, class B>
  auto operator()(A&& a, B&& b) const {
    Op own = op;
    return std::invoke(own, std::forward<A>(a), std::forward<B>(b));
  }
};
template<class Op, class T>
using shared_operator = std::conditional_t<std::is_invocable_v<Op const&, T, T>, Op, copied_per_call<Op>>;

/// A scan whose bricks are: the sum of [i, j) behind a term, and a scan of [i, j) behind what is before it,
/// which returns what is before the next term.
template<class T, class Term, class Op, class Sum, class Scan>
struct scan_of_input {
  static constexpr bool scans_at_once = true; ///< a scan needs no sum of its block
  Term const& term;
  Op op;
  Sum const& sum_from;
  Scan const& scan_from;

  [[nodiscard, gnu::noinline]] T sum(std::uint64_t lo, std::uint64_t hi) const {
    Term own = term;
    T first = static_cast<T>(own(static_cast<std::ptrdiff_t>(lo)));
    if (hi - lo == 1) return first;
    return sum_from(static_cast<std::ptrdiff_t>(lo + 1), static_cast<std::ptrdiff_t>(hi), std::move(first));
  }
  [[gnu::noinline]] T scan(std::uint64_t lo, std::uint64_t hi, T before) const {
    return scan_from(static_cast<std::ptrdiff_t>(lo), static_cast<std::ptrdiff_t>(hi), std::move(before));
  }
  [[nodiscard]] T whole(std::uint64_t lo, std::uint64_t hi, T before) const {
    return scan(lo, hi, std::move(before));
  }
};

/// A scan whose bricks are: a scan of some terms to the output, which returns their sum, and one that
/// combines what is before them with that output. The second one runs while the output is in the cache.
template<class T, class Index, class Op, class Sum, class Scan>
struct scan_of_output {
  static constexpr bool scans_at_once = false;
  Op op;
  Sum const& sum_of;
  Scan const& scan_from;

  [[nodiscard, gnu::noinline]] T sum(std::uint64_t lo, std::uint64_t hi) const {
    return sum_of(static_cast<Index>(lo), static_cast<Index>(hi - lo));
  }
  [[gnu::noinline]] T scan(std::uint64_t lo, std::uint64_t hi, T before) const {
    scan_from(static_cast<Index>(lo), static_cast<Index>(hi - lo), before);
    return before; // what comes next is not known from here, and not asked for
  }
  [[nodiscard]] T whole(std::uint64_t lo, std::uint64_t hi, T before) const {
    T all = sum(lo, hi);
    static_cast<void>(scan(lo, hi, before));
    return pstl::combined_by<T>(op, std::move(before), std::move(all));
  }
};

/// The same kernel for the terms from `first` on.
template<class T, class Kernel>
struct rest_of_scan {
  Kernel const& all;
  std::uint64_t first;
  decltype(Kernel::op) const& op = all.op;

  [[nodiscard]] T sum(std::uint64_t lo, std::uint64_t hi) const { return all.sum(first + lo, first + hi); }
  T scan(std::uint64_t lo, std::uint64_t hi, T before) const {
    return all.scan(first + lo, first + hi, std::move(before));
  }
};

/// Scans n terms. How long it will take is not known, so the caller begins alone, with blocks that grow, and
/// shares what is left after a while: later where threads that share a scan read each term twice. By then it
/// knows how many terms make a block that is worth its part in the threads' agreement.
template<class T, class Kernel>
void scan_blocks(Kernel const& kernel, std::uint64_t n, T init) {
  constexpr std::uint64_t longest_alone = std::max<std::uint64_t>(1, std::uint64_t{16'384} / sizeof(T));
  constexpr std::uint64_t longest = 4 * longest_alone;
  constexpr std::int64_t alone_us = Kernel::scans_at_once ? 40 : 10, block_us = 10;
  if (n == 0) return;
  pstl::unstopped([&](thread_context& me) {
    T before = std::move(init);
    std::int64_t const begin = tick_count(), us = ticks_per_us();
    std::int64_t took = 0;
    std::uint64_t done = 0;
    for (std::uint64_t block = 1; done != n && took < alone_us * us;
         block = std::min(8 * block, longest_alone)) {
      std::uint64_t const next = done + std::min(block, n - done);
      before = kernel.whole(done, next, std::move(before));
      done = next;
      took = tick_count() - begin;
    }
    if (done == n) return;
    // The caller may have lost its processor meanwhile, and then the terms seem to be slow: so there are
    // never more blocks than can be shared out evenly.
    std::uint64_t const left = n - done, workers = std::max(1U, size_of(*me.core));
    std::uint64_t const shortest = std::clamp(left / (64 * workers), std::uint64_t{1}, longest);
    std::uint64_t const brief =
        done * static_cast<std::uint64_t>(block_us * us) / static_cast<std::uint64_t>(took);
    using rest = rest_of_scan<T, Kernel>;
    rest const others{kernel, done};
    scan_in_blocks<T, rest>(others, left, std::clamp(brief, shortest, longest), Kernel::scans_at_once,
                            std::move(before))(me);
  });
}

} // namespace rubato::detail::pstl
