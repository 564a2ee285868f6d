// A choice between two places without a branch.
#pragma once

namespace rubato::detail {

/// `second ? b : a`, for what no processor predicts: Clang makes a branch of it unless it is told so.
template<class A, class B>
[[nodiscard]] [[gnu::always_inline]] inline auto either(A a, B b, bool second) noexcept {
#ifdef __clang__
  return __builtin_unpredictable(second) ? b : a;
#else
  return second ? b : a;
#endif
}

} // namespace rubato::detail
