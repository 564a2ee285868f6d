// A std::function of any callable.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace rubato::detail {

/// A std::function, also of a callable that is only movable.
template<class... Args, class F>
void set_function(std::function<void(Args...)>& to, F&& f) {
  using type = std::decay_t<F>;
  if constexpr (!std::is_invocable_v<type&, Args...>)
    return; // an assertion has failed
  else if constexpr (std::is_copy_constructible_v<type>)
    to = std::forward<F>(f);
  else
    to = [p = std::make_shared<type>(std::forward<F>(f))](Args... args) {
      std::invoke(*p, std::forward<Args>(args)...);
    };
}

} // namespace rubato::detail
