// The number of workers that a program asks for.
#pragma once

#include "rubato/detail/base/api.hpp"

namespace rubato::detail {

/// The same number. Throws std::invalid_argument if it is 0.
[[nodiscard]] RUBATO_API unsigned at_least_one_worker(unsigned n);

} // namespace rubato::detail
