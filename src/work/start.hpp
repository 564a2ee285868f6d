// The lock under which pools start, for fork().
#pragma once

#include "rubato/detail/mutex.hpp"

namespace rubato::detail {

[[nodiscard]] mutex& start_mutex() noexcept;

} // namespace rubato::detail
