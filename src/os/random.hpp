// Numbers that no other process can guess.
#pragma once

#include <cstddef>
#include <span>

namespace rubato::os {

/// Fills it. Throws std::system_error.
void fill_with_random(std::span<std::byte> bytes);

} // namespace rubato::os
