// One operation of a select().
#pragma once

#include <type_traits>
#include <utility>

namespace rubato::detail {

/// One operation of a select(), and the callable for its result.
template<class A, class F>
struct [[nodiscard("rubato: one of select()'s operations, which does nothing by itself")]] selected {
  A step;
  F called;

  template<class G>
  selected(A&& a, G&& g)
      : step(std::move(a))
      , called(std::forward<G>(g)) {}
};
template<class A, class G>
selected(A&&, G&&) -> selected<A, std::decay_t<G>>;

template<class T>
inline constexpr bool is_selected = false;
template<class A, class F>
inline constexpr bool is_selected<selected<A, F>> = true;

} // namespace rubato::detail
