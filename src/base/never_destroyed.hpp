// An object of static storage duration whose destructor never runs.
#pragma once

namespace rubato::detail {

/// Threads that no one joins, and other static objects, may use it until the process has ended.
template<class T>
union never_destroyed {
  T object;
  constexpr never_destroyed() noexcept
      : object() {}
  ~never_destroyed() {} // NOLINT(modernize-use-equals-default): `object` is not destroyed
};

} // namespace rubato::detail
