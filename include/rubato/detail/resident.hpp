// Work that waits in a pool for something that may never come. docs/design/coroutines.md
#pragma once

#include "rubato/detail/future_state.hpp"

#include <cstddef>
#include <cstdint>

namespace rubato::detail {

/// A part of the work, in its pool's list, so that the pool, when it ends, can break it off.
class resident {
  friend class residents;
  resident* next_ = nullptr;
  resident* previous_ = nullptr;
  std::uint32_t const offset_ : 31; ///< in the work
  std::uint32_t listed_ : 1;

public:
  explicit resident(future_state& work) noexcept
      : offset_(static_cast<std::uint32_t>(reinterpret_cast<std::byte*>(this) -
                                           reinterpret_cast<std::byte*>(&work)) &
                0x7fff'ffffU)
      , listed_(0) {}
  resident(resident const&) = delete;
  resident& operator=(resident const&) = delete;

  [[nodiscard]] future_state& work() noexcept {
    return *reinterpret_cast<future_state*>(reinterpret_cast<std::byte*>(this) - offset_);
  }
  [[nodiscard]] bool is_listed() const noexcept { return listed_ != 0; }
};

} // namespace rubato::detail
