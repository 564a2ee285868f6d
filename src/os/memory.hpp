// Address space that costs nothing until it is touched.
#pragma once

#include <cstddef>

namespace rubato::os {

/// At least `bytes` of zeros, page-aligned; each page is committed at its first write. Throws std::bad_alloc.
[[nodiscard]] void* reserve(std::size_t bytes);

/// Gives back what reserve(bytes) returned.
void release(void* memory, std::size_t bytes) noexcept;

} // namespace rubato::os
