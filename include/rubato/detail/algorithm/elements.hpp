// How the inner loops of the algorithms read and write elements, and which ranges they split.
#pragma once

#include "rubato/cancelled.hpp"
#include "rubato/detail/fork/loop.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <cstdint>
#include <iterator>
#include <memory>
#include <ranges>
#include <type_traits>
#include <vector>

namespace rubato::detail {

/// A range that several threads work on at once.
template<class I, class S = I>
concept splittable_from = std::random_access_iterator<I> && std::sized_sentinel_for<S, I>;

/// An output that several threads write at once. Neighbouring elements of a vector<bool> share a word.
template<class O>
concept splittable_output =
    std::random_access_iterator<O> &&
    !std::is_same_v<std::remove_cvref_t<std::iter_reference_t<O>>, std::vector<bool>::reference>;

/// *o = v, also through a const proxy's assignment, which C++20 does not know: that of a vector<bool>.
template<class O, class V>
concept written_with = requires(O& o, V&& v) { *o = static_cast<V&&>(v); };

/// Numbers in an array: the compiler may vectorise a loop over them, and what is done with one takes a
/// nanosecond as a rule.
template<class I>
concept array_of_numbers = std::contiguous_iterator<I> && (std::is_arithmetic_v<std::iter_value_t<I>> ||
                                                           std::is_enum_v<std::iter_value_t<I>>);

/// The end of a range, as an iterator where that takes no walk.
template<class R>
auto end_of(R& range) {
  if constexpr (std::ranges::random_access_range<R&> && std::ranges::sized_range<R&>)
    return std::ranges::begin(range) +
           static_cast<std::ranges::range_difference_t<R&>>(std::ranges::size(range));
  else
    return std::ranges::end(range);
}

template<class I, class S>
std::uint64_t length_of(I const& first, S const& last) {
  return static_cast<std::uint64_t>(last - first);
}

template<class I>
I moved_by(I const& first, std::uint64_t n) {
  return first + static_cast<std::iter_difference_t<I>>(n);
}

/// The pointer behind an iterator of an array, which compilers vectorise best, or the iterator itself.
template<class I>
auto cursor_at(I const& first, std::uint64_t n) {
  if constexpr (std::contiguous_iterator<I>)
    return std::to_address(first) + n;
  else
    return detail::moved_by(first, n);
}
template<class I>
using cursor_of = decltype(detail::cursor_at(std::declval<I const&>(), 0));

/// A callable within an inner loop. A copy of a small one that is trivial to copy: its captures may stay in
/// registers, because no store to an element changes them. Any other one is never copied.
template<class F>
using kept_in_loop = std::conditional_t<std::is_trivially_copyable_v<F> && std::is_copy_constructible_v<F> &&
                                            sizeof(F) <= 8 * sizeof(void*),
                                        F const, F const&>;

/// True if the output begins within the array that is read.
template<class I, class S, class O>
bool begins_within(I const& first, S const& last, O const& out) {
  auto const begin = reinterpret_cast<std::uintptr_t>(std::to_address(first));
  auto const end = reinterpret_cast<std::uintptr_t>(std::to_address(first + (last - first)));
  auto const at = reinterpret_cast<std::uintptr_t>(std::to_address(out));
  return begin <= at && at < end;
}

/// True if the arrays overlap without being the same: then the elements are taken one after the other, from
/// the front.
template<class I, class O>
bool partly_overlap(I const& in, std::uint64_t n, O const& out) {
  if constexpr (std::contiguous_iterator<I> && std::contiguous_iterator<O>) {
    auto const a = reinterpret_cast<std::uintptr_t>(std::to_address(in));
    auto const b = reinterpret_cast<std::uintptr_t>(std::to_address(out));
    return a != b && a < b + n * sizeof(std::iter_value_t<O>) && b < a + n * sizeof(std::iter_value_t<I>);
  } else {
    return false;
  }
}

/// For a walk by the calling thread alone: ends it soon after a stop of the scope around it.
class walk {
  stop_around const around_{*current};
  unsigned steps_ = 0;

public:
  /// Before each element. Throws cancelled.
  void step() {
    if ((++steps_ & 15U) == 0 && around_.stopped()) throw cancelled();
  }
};

} // namespace rubato::detail
