// What a call becomes that does not compile: one message that says what to write, and no error after it.
#pragma once

namespace rubato::detail {

/// For a static_assert that fails whenever its function is used.
template<class...>
inline constexpr bool always_false = false;

/// The result of a call that does not compile. It converts to any type, so the compiler reports no further
/// error.
struct refused {
  template<class T>
  operator T() const;
  refused get() const;
  bool await_ready() const;
  void await_suspend(auto) const;
  refused await_resume() const;
};
/// The same for a call whose result would be a T.
template<class T>
struct refused_as : refused {
  T get() const;
  T await_resume() const;
};

} // namespace rubato::detail
