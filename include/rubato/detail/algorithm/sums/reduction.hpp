// Reductions: partial results in the order of the range, and trees whose shape depends only on the length.
#pragma once

#include "rubato/detail/algorithm/brief_blocks.hpp"
#include "rubato/detail/algorithm/pieces.hpp"
#include "rubato/detail/algorithm/sources.hpp"
#include "rubato/detail/algorithm/sums/add_up.hpp"
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

/// The body of a loop that reduces: a partial result per piece.
template<class Source, class T, class Op>
class reduction : public pieces<std::optional<T>> {
  using base = pieces<std::optional<T>>;
  Source const& source_;
  Op const& op_;

public:
  reduction(thread_context& me, Source const& source, Op const& op)
      : base(me)
      , source_(source)
      , op_(op) {}

  void operator()(typename base::cell& c, thread_context&, std::uint64_t lo, std::uint64_t hi) {
    std::optional<T>& before = c.value;
    if constexpr (is_small<T>) {
      T sum = detail::add_up<T>(source_, lo, hi, op_);
      before.emplace(before ? detail::combined<T>(op_, std::move(*before), std::move(sum)) : std::move(sum));
    } else {
      // In a local variable: the compiler cannot keep the cell's sum in a register across op.
      auto i = source_.from(lo);
      T sum = before ? detail::combined<T>(op_, std::move(*before), *i) : static_cast<T>(*i);
      for (++lo, i.next(); lo != hi; ++lo, i.next()) sum = detail::combined<T>(op_, std::move(sum), *i);
      before.emplace(std::move(sum));
    }
  }

  T result(T init) {
    this->for_each_value([&](std::optional<T>& sum) {
      if (sum) init = detail::combined<T>(op_, std::move(init), std::move(*sum));
    });
    return init;
  }
};

/// The most elements of a leaf: enough leaves to share, each long enough to vectorise. Depends only on the
/// length.
[[nodiscard]] constexpr std::uint64_t leaf_of(std::uint64_t n) noexcept {
  return n < 1024 * 1024 ? (n + 1023) / 1024 : 1024;
}

template<class Source, class T, class Op>
struct reduction_tree {
  Source const& source;
  Op const& op;
  std::uint64_t n;
  loop_root* root;
  std::uint64_t leaf = leaf_of(n);

  T operator()(context& c, std::uint64_t lo, std::uint64_t hi) const {
    if (root->stopped()) throw cancelled(); // the root knows the reason
    if (is_leaf(lo, hi)) return attempt([&] { return detail::add_up<T>(source, lo, hi, op); });
    std::uint64_t const middle = lo + (hi - lo) / 2;
    auto halves = join_fn{}(
        c, [&, this](context& mine) -> T { return (*this)(mine, lo, middle); },
        [&, this](context& its) -> T {
          if (its.migrated()) [[unlikely]]
            return elsewhere(its, middle, hi);
          return (*this)(its, middle, hi);
        });
    return attempt(
        [&] { return detail::combined<T>(op, std::move(halves.first), std::move(halves.second)); });
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

  /// Calls f(), which calls code of the program. If it throws, the other branches end early.
  template<class F>
  T attempt(F const& f) const {
    std::exception_ptr error;
    try {
      return f();
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

/// True if map takes an element of each of two ranges, and not one element alone.
template<class Map, class I, class J>
inline constexpr bool maps_pairs = false;
template<class Map, std::input_iterator I, std::input_iterator J>
inline constexpr bool maps_pairs<Map, I, J> =
    std::is_invocable_v<Map const&, std::iter_reference_t<I>, std::iter_reference_t<J>> &&
    !std::is_invocable_v<Map const&, std::iter_reference_t<I>>;

/// A sum of numbers by an operator that takes a few nanoseconds: serially, and without a pool, up to so many.
inline constexpr std::uint64_t brief_sum = 32'768;

/// The length of a block, of which a brief sum has at most `most_blocks`. An operator of the program's own
/// may be slow.
inline constexpr std::uint64_t most_blocks = 512;
template<class Op, class T>
[[nodiscard]] constexpr std::uint64_t sum_block(std::uint64_t n) noexcept {
  return std::max<std::uint64_t>(has_lanes<Op, T> ? 4096 : 1024, (n + most_blocks - 1) / most_blocks);
}

/// Blocks whose length depends on n alone; their sums are on the caller's stack. So the bits of the result do
/// not depend on the number of workers.
template<class T, class Source, class Op>
T reduce_briefly(pool* p, Source const& source, std::uint64_t n, T init, Op const& op) {
  if (n <= brief_sum) {
    throw_if_stopped();
    return detail::combined<T>(op, init, detail::add_up<T>(source, 0, n, op));
  }
  std::uint64_t const block = sum_block<Op, T>(n);
  T sums[most_blocks];
  detail::for_brief_blocks(p, n, block, [&](std::uint64_t lo, std::uint64_t hi) {
    for (; lo < hi; lo += block)
      sums[lo / block] = detail::add_up<T>(source, lo, std::min(lo + block, hi), op);
  });
  std::identity const as_it_is;
  mapped_range<T const*, std::identity> const all{sums, as_it_is};
  return detail::combined<T>(op, init, detail::add_up<T>(all, 0, (n + block - 1) / block, op));
}

template<class T, class Source, class Op>
T reduce_in_pieces(pool* p, Source const& source, std::uint64_t n, T init, Op const& op) {
  return detail::on_pool(p, [&](thread_context& me) -> T {
    reduction<Source, T, Op> body(me, source, op);
    detail::run_loop(me, body, n);
    return body.result(std::move(init));
  });
}

template<class T, class Source, class Op>
T reduce_as_tree(pool* p, Source const& source, std::uint64_t n, T init, Op const& op) {
  T sum = detail::on_pool(p, [&](thread_context& me) -> T {
    loop_root root(me);
    token_in_force const token(me.chain, &root.stop());
    reduction_tree<Source, T, Op> const tree{source, op, n, &root};
    try {
      return tree(me.stayed(), 0, n);
    } catch (...) {
      root.throw_first(); // not the exception of a branch that was only stopped
      throw;
    }
  });
  return detail::combined<T>(op, std::move(init), std::move(sum));
}

/// The terms of a source in order. `Deterministic`: the shape of the sum depends on n and the types alone.
template<bool Deterministic, class T, class Source, class Op>
T reduce_terms(pool* p, Source const& source, std::uint64_t n, T init, Op const& op) {
  if (n == 0) return init;
  if constexpr (is_brief<Source, T, Op>)
    return detail::reduce_briefly(p, source, n, init, op);
  else if constexpr (Deterministic)
    return detail::reduce_as_tree(p, source, n, std::move(init), op);
  else
    return detail::reduce_in_pieces(p, source, n, std::move(init), op);
}

/// What the calling thread alone does with each element of a range that cannot be split. Throws cancelled if
/// a stop of the scope comes before the last.
template<class F>
void on_this_thread(pool* p, F f) {
  auto const work = [&](thread_context& me) {
    stop_around const stop(me);
    f([&stop] {
      if (stop.stopped()) throw cancelled();
    });
  };
  if (p == nullptr)
    work(*current);
  else
    on_pool(p, work);
}

/// True if op and map fit a reduction; otherwise an assertion fails with a message.
template<bool Splittable, class T, class Op, class Map, class... Elements>
[[nodiscard]] consteval bool can_be_reduced() {
  constexpr bool map_fits = gives<Map const&, T, Elements...>;
  static_assert(map_fits, "rubato: reduce(range, init, op, map): map must be callable as map(element), and "
                          "its result must convert to T, the type of init");
  if constexpr (map_fits) {
    // A range that is not split has only one partial result.
    constexpr bool op_fits = gives<Op const&, T, T, std::invoke_result_t<Map const&, Elements...>> &&
                             (!Splittable || gives<Op const&, T, T, T>);
    static_assert(op_fits, "rubato: reduce(range, init, op, map): op must be callable as op(T, T) and as "
                           "op(T, map(element)), T being the type of init, and its result must convert to T");
    return op_fits;
  } else {
    return false;
  }
}

template<bool Deterministic, class R, class T, class Op, class Map>
T reduce_range(pool* p, R& range, T init, Op const& op, Map const& map) {
  if constexpr (!can_be_reduced<splittable<R&>, T, Op, Map, std::ranges::range_reference_t<R&>>()) {
    return init;
  } else if constexpr (splittable<R&>) {
    auto const n = static_cast<std::uint64_t>(std::ranges::size(range));
    return detail::reduce_terms<Deterministic>(p, detail::terms_of(std::ranges::begin(range), n, map), n,
                                               std::move(init), op);
  } else {
    detail::on_this_thread(p, [&](auto throw_if_over) {
      for (auto&& x : range) {
        throw_if_over();
        init = detail::combined<T>(op, std::move(init), std::invoke(map, std::forward<decltype(x)>(x)));
      }
    });
    return init;
  }
}

template<class R, class S>
inline constexpr bool both_splittable = splittable<R&> && std::ranges::random_access_range<S&>;

/// Of as many pairs as the first range has elements.
template<bool Deterministic, class R, class S, class T, class Op, class Map>
T reduce_pairs(pool* p, R& first, S& second, T init, Op const& op, Map const& map) {
  if constexpr (!can_be_reduced<both_splittable<R, S>, T, Op, Map, std::ranges::range_reference_t<R&>,
                                std::ranges::range_reference_t<S&>>()) {
    return init;
  } else if constexpr (both_splittable<R, S>) {
    auto const n = static_cast<std::uint64_t>(std::ranges::size(first));
    return detail::reduce_terms<Deterministic>(
        p, detail::terms_of(std::ranges::begin(first), std::ranges::begin(second), n, map), n,
        std::move(init), op);
  } else {
    detail::on_this_thread(p, [&](auto throw_if_over) {
      auto j = std::ranges::begin(second);
      for (auto&& x : first) {
        throw_if_over();
        init = detail::combined<T>(op, std::move(init), std::invoke(map, std::forward<decltype(x)>(x), *j));
        ++j;
      }
    });
    return init;
  }
}

} // namespace detail

} // namespace rubato
