// How elements change places so that each of them is in exactly one known place, also when a move throws.
#pragma once

#include "rubato/detail/algorithm/order/key_order.hpp"

#include <exception>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// Elements whose bytes are all there is to them: a copy that is written twice, or dropped, does no harm.
template<class T>
inline constexpr bool plain_data =
    std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<T> && std::is_copy_assignable_v<T>;

template<class T>
inline constexpr bool moves_may_throw =
    !std::is_nothrow_move_constructible_v<T> || !std::is_nothrow_move_assignable_v<T>;

/// Elements of a range that several threads may write at once: real references, no proxies, which may share
/// a word.
template<class I>
inline constexpr bool writable_apart =
    std::random_access_iterator<I> && std::is_lvalue_reference_v<std::iter_reference_t<I>>;

/// Plain data in one piece, behind a bare_iterator().
template<class I>
inline constexpr bool plain_span = std::is_pointer_v<I> && plain_data<std::iter_value_t<I>>;

/// Calls f(), which moves an element, and once more if that throws: a failure that has been told already must
/// not cost an element. A second failure does.
template<class F>
void move_at_last(F&& f) noexcept {
  try {
    f();
  } catch (...) {
    try {
      f();
    } catch (...) { // NOLINT(bugprone-empty-catch): the first failure is on its way
    }
  }
}

/// The same for moves that finish what cannot be undone: the first failure is thrown when all are done.
class sure_moves {
  std::exception_ptr first_;

public:
  template<class F>
  void operator()(F&& f) noexcept {
    try {
      f();
      return;
    } catch (...) {
      if (first_ == nullptr) first_ = std::current_exception();
    }
    detail::move_at_last(f);
  }
  void throw_first() const {
    if (first_ != nullptr) std::rethrow_exception(first_);
  }
};

/// An element that was taken out of a range, and the place that it goes back to, at the latest in the
/// destructor.
template<class I>
class lifted {
  std::iter_value_t<I> value_;
  I place_;
  bool back_ = false;

public:
  explicit lifted(I from)
      : value_(std::ranges::iter_move(from))
      , place_(from) {}
  lifted(lifted const&) = delete;
  lifted& operator=(lifted const&) = delete;
  ~lifted() {
    if (!back_) detail::move_at_last([this] { *place_ = std::move(value_); });
  }
  [[nodiscard]] std::iter_value_t<I>& value() noexcept { return value_; }
  [[nodiscard]] I const& place() const noexcept { return place_; }
  /// Fills the place with the element at `from`, whose place is the free one then.
  void fill_from(I from) {
    *place_ = std::ranges::iter_move(from);
    place_ = from;
  }
  void put_back() {
    *place_ = std::move(value_);
    back_ = true;
  }
};

/// std::ranges::iter_swap; loses no element if a move throws.
template<class I, class J>
void swap_elements(I i, J j) {
  using value = std::iter_value_t<I>;
  if constexpr (std::is_same_v<I, J> && std::is_lvalue_reference_v<std::iter_reference_t<I>> &&
                moves_may_throw<value>) {
    if (i == j) return;
    lifted<I> one(i);
    one.fill_from(j);
    one.put_back();
  } else {
    if constexpr (std::is_same_v<I, J> && !plain_data<value>) {
      if (i == j) return;
    }
    std::ranges::iter_swap(i, j);
  }
}

} // namespace rubato::detail
