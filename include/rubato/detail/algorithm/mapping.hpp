// map_to_vector: the results of a callable, in the order of the elements.
#pragma once

#include "rubato/detail/algorithm/elements.hpp"
#include "rubato/detail/algorithm/order/raw_memory.hpp"
#include "rubato/detail/algorithm/order/share_out.hpp"
#include "rubato/detail/algorithm/unfilled_vector.hpp"
#include "rubato/detail/base/value_in_std.hpp"
#include "rubato/detail/fork/index_loop.hpp"
#include "rubato/detail/fork/repeat.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <ranges>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace rubato::detail {

/// Several threads call f at once, as const.
template<class R, class F>
concept mapped_by =
    std::ranges::input_range<R> && std::invocable<F const&, std::ranges::range_reference_t<R>>;

template<class F, class X>
auto result_in_std(F const& f, X&& x) -> value_in_std<std::invoke_result_t<F const&, X>> {
  using result = std::invoke_result_t<F const&, X>;
  if constexpr (std::is_void_v<result>) {
    std::invoke(f, std::forward<X>(x));
    return {};
  } else if constexpr (std::is_reference_v<result>) {
    return in_std<result>(std::invoke(f, std::forward<X>(x)));
  } else {
    return std::invoke(f, std::forward<X>(x));
  }
}

/// Results that are made where no object is yet. Those that were made die with this.
template<class T>
class made_in_pieces {
  std::uint64_t const n_, size_;
  raw_memory<T> const room_;
  std::vector<std::uint32_t> made_; // of each piece, from its front

public:
  explicit made_in_pieces(std::uint64_t n)
      : n_(n)
      , size_(block_of(n))
      , room_(n)
      , made_((n + size_ - 1) / size_, 0) {
    if (room_.get() == nullptr) throw std::bad_alloc();
  }
  made_in_pieces(made_in_pieces const&) = delete;
  ~made_in_pieces() {
    for (std::size_t i = 0; i != made_.size(); ++i) std::destroy_n(room_.get() + i * size_, made_[i]);
  }

  template<class F, class Cursor>
  void make(pool* p, F const& f, Cursor const& cursor) {
    detail::for_chunks(p, made_.size(), [&](thread_context&, std::uint64_t lo, std::uint64_t hi) {
      for (; lo != hi; ++lo) {
        T* place = room_.get() + lo * size_;
        auto c = cursor(lo * size_);
        for (std::uint64_t left = std::min(size_, n_ - lo * size_); left != 0; --left, void(), ++c) {
          ::new (static_cast<void*>(place++)) T(detail::result_in_std(f, *c));
          ++made_[lo];
        }
      }
    });
  }
  /// When all are made.
  [[nodiscard]] std::vector<T> moved_out() const {
    return std::vector<T>(std::move_iterator(room_.get()), std::move_iterator(room_.get() + n_));
  }
};

template<class R, class F>
auto map_range(pool* p, R& range, F const& f) {
  using value = value_in_std<std::invoke_result_t<F const&, std::ranges::range_reference_t<R&>>>;
  auto first = std::ranges::begin(range);
  auto const last = detail::end_of(range);
  using iterator = decltype(first);
  if constexpr (!splittable_from<iterator, std::remove_const_t<decltype(last)>>) {
    std::vector<value> results;
    if constexpr (std::ranges::sized_range<R&>)
      results.reserve(static_cast<std::size_t>(std::ranges::size(range)));
    for (walk w; first != last; ++first) {
      w.step();
      results.push_back(detail::result_in_std(f, *first));
    }
    return results;
  } else {
    std::uint64_t const n = detail::length_of(first, last);
    constexpr bool numbers = array_of_numbers<iterator> && std::is_arithmetic_v<value>;
    auto const fill_in = [&](auto* results) {
      detail::share_out<numbers>(p, n, [&, results](std::uint64_t lo, std::uint64_t hi) {
        kept_in_loop<F> g = f;
        auto c = detail::cursor_at(first, lo);
        auto* r = results + lo;
        detail::repeat(hi - lo, [&g, &c, &r] {
          *r = detail::result_in_std(g, *c);
          ++r, void(), ++c;
        });
      });
    };
    if constexpr (std::is_same_v<value, bool>) { // whose vector has elements that share words
      std::vector<unsigned char> bytes(static_cast<std::size_t>(n));
      fill_in(bytes.data());
      return std::vector<bool>(bytes.begin(), bytes.end());
    } else if constexpr (made_by_assignment<value>) {
      auto const size = static_cast<std::size_t>(n);
      unfilled_vector<value> results(size);
      fill_in(results.room());
      return std::move(results).filled(size);
    } else if constexpr (std::is_nothrow_default_constructible_v<value> && std::is_move_assignable_v<value>) {
      std::vector<value> results(static_cast<std::size_t>(n));
      fill_in(results.data());
      return results;
    } else {
      made_in_pieces<value> results(n);
      if (n != 0) results.make(p, f, [&first](std::uint64_t i) { return detail::cursor_at(first, i); });
      return results.moved_out();
    }
  }
}

} // namespace rubato::detail
