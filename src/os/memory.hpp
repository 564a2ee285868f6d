// Address space that costs nothing until it is touched.
#pragma once

#include <cstddef>

namespace rubato::os {

/// At least `bytes` of zeros, page-aligned; each page is committed at its first write. Throws std::bad_alloc.
[[nodiscard]] void* reserve(std::size_t bytes);

/// The size of a huge page.
inline constexpr std::size_t huge_page = std::size_t{2} << 20U;
/// The same for memory that will be used whole: in huge pages, if there are any, and aligned to them. A
/// multiple of huge_page. Throws std::bad_alloc.
[[nodiscard]] void* reserve_huge(std::size_t bytes);

/// Gives back memory that reserve(bytes) or reserve_huge(bytes) returned.
void release(void* memory, std::size_t bytes) noexcept;

} // namespace rubato::os
