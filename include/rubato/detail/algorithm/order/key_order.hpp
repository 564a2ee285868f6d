// A comparator with its projection, as the algorithms call it, and the elements that it orders.
#pragma once

#include <concepts>
#include <functional>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato::detail {

/// Copying it copies two pointers: comparator and projection are called where the caller has them.
template<class Comp, class Proj>
class key_order {
  Comp const* comp_;
  Proj const* proj_;

public:
  key_order(Comp const& comp, Proj const& proj) noexcept
      : comp_(std::addressof(comp))
      , proj_(std::addressof(proj)) {}

  template<class A, class B>
  [[nodiscard]] [[gnu::always_inline]] bool operator()(A&& a, B&& b) const {
    return static_cast<bool>(std::invoke(*comp_, std::invoke(*proj_, std::forward<A>(a)),
                                         std::invoke(*proj_, std::forward<B>(b))));
  }
};

/// Bits share words, so no two threads may write them.
template<class I>
concept bit_iterator = std::same_as<I, std::vector<bool>::iterator>;

/// Other iterators over bits, which C++23 calls sortable: reversed ones, for instance.
template<class I>
concept shares_words = std::same_as<std::iter_reference_t<I>, std::vector<bool>::reference>;

/// Elements that sort() and its kin can bring into that order. Several threads call comparator and projection
/// at once, so both are called as const. std::vector<bool>, which C++20 calls not sortable, is accepted.
template<class I, class Comp, class Proj>
concept ordered_by =
    std::sortable<I, Comp const, Proj const> ||
    (bit_iterator<I> && std::indirect_strict_weak_order<Comp const, std::projected<I, Proj const>>);

/// A pointer where the elements are contiguous and no iterator has its own idea of a move; else the iterator.
/// That saves instantiations, and pointers are what the compiler optimises best.
template<class I>
[[nodiscard]] auto bare_iterator(I i) noexcept {
  if constexpr (std::contiguous_iterator<I> && !std::is_pointer_v<I>) {
    using value = std::iter_value_t<I>;
    if constexpr (std::same_as<std::iter_reference_t<I>, value&> &&
                  std::same_as<std::iter_rvalue_reference_t<I>, value&&>)
      return std::to_address(i);
    else
      return i;
  } else {
    return i;
  }
}

/// Elements that a thread copies out of the range while it compares: branch-free code moves more of them than
/// it must, and that costs less than a branch that is predicted badly.
template<class I>
inline constexpr bool are_cheap_to_copy =
    std::is_pointer_v<I> && std::is_trivially_copyable_v<std::iter_value_t<I>> &&
    std::copyable<std::iter_value_t<I>> && sizeof(std::iter_value_t<I>) <= 32;

} // namespace rubato::detail
