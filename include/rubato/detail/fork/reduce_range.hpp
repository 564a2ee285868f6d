// Reductions of a range, in its order or as a tree.
#pragma once

#include "rubato/detail/fork/range_loop.hpp"
#include "rubato/detail/fork/reduction.hpp"

#include <cstdint>
#include <functional>
#include <ranges>

namespace rubato::detail {

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
      reduction_tree<std::remove_const_t<decltype(first)>, T, Op, Map> const tree{first, op, map, leaf_of(n),
                                                                                  &root};
      try {
        return tree(0, n);
      } catch (...) {
        root.throw_first(); // not the exception of a branch that was only stopped
        throw;
      }
    });
    return static_cast<T>(std::invoke(op, std::move(init), std::move(sum)));
  }
}

} // namespace rubato::detail
