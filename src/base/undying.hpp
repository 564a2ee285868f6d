// An object of static storage duration whose destructor never runs.
#pragma once

namespace rubato::detail {

/// Threads that no one joins, and other static objects, may use it until the process has ended.
template<class T>
union undying {
  T object;
  constexpr undying() noexcept
      : object() {}
  ~undying() {} // NOLINT(modernize-use-equals-default): `object` is not destroyed
};

} // namespace rubato::detail
