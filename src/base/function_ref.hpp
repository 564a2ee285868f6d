// A callable as an argument of a function that is no template.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace rubato::detail {

template<class Signature>
class function_ref;

/// Refers to a callable, which outlives the call that gets this.
template<class R, class... Args>
class function_ref<R(Args...)> {
  void const* to_;
  R (*call_)(void const*, Args...);

public:
  template<class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, function_ref>)
  function_ref(F&& f) noexcept // NOLINT(bugprone-forwarding-reference-overload): constrained
      : to_(std::addressof(f))
      , call_([](void const* to, Args... args) -> R {
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): F has the const that the callable has
        return (*static_cast<std::remove_reference_t<F>*>(const_cast<void*>(to)))(
            std::forward<Args>(args)...);
      }) {}
  R operator()(Args... args) const { return call_(to_, std::forward<Args>(args)...); }
};

} // namespace rubato::detail
