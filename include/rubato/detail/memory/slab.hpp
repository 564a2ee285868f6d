// Memory for tasks and small objects. docs/design/slab.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/memory/slab_cache.hpp"

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace rubato::detail {

/// Memory for tasks, from the threads' caches; any thread may free it. Allocation and deallocation get the
/// same size. Throws std::bad_alloc.
[[nodiscard]] RUBATO_API void* allocate(std::size_t bytes);
RUBATO_API void deallocate(void* memory, std::size_t bytes) noexcept;

/// The same in the caller's code: for the frames of coroutines.
[[nodiscard, gnu::always_inline]] inline void* allocate_here(std::size_t bytes) {
  if (bytes > slab_classes::largest) [[unlikely]]
    return allocate_slowly(bytes);
  slab_magazine& m = own_slabs->shelves[slab_classes::of(bytes)].first;
  if (m.top == nullptr) [[unlikely]]
    return allocate_slowly(bytes);
  return m.pop();
}
[[gnu::always_inline]] inline void deallocate_here(void* memory, std::size_t bytes) noexcept {
  if (bytes > slab_classes::largest) [[unlikely]]
    return deallocate_slowly(memory, bytes);
  slab_magazine& m = own_slabs->shelves[slab_classes::of(bytes)].first;
  if (m.loaded >= slab_classes::magazine_size) [[unlikely]]
    return deallocate_slowly(memory, bytes);
  m.push(memory);
}

/// For an object that a thread makes again and again: a block that shares no cache line with another
/// thread's.
[[nodiscard, gnu::always_inline]] constexpr std::size_t whole_lines(std::size_t bytes) noexcept {
  return bytes < slab_classes::line ? slab_classes::line : bytes;
}

/// True if such memory is aligned for a T.
template<class T>
inline constexpr bool fits_slab = alignof(T) <= 64;

// Around fork().
void lock_slabs() noexcept;
void unlock_slabs() noexcept;

/// A T in such memory. Throws std::bad_alloc, and what the constructor throws.
template<class T, class... Args>
[[nodiscard]] T* make_in_slab(Args&&... args) {
  static_assert(fits_slab<T>, "rubato: a task's callable may be aligned to at most 64 bytes");
  void* const memory = allocate(sizeof(T));
  try {
    return ::new (memory) T(std::forward<Args>(args)...);
  } catch (...) {
    deallocate(memory, sizeof(T));
    throw;
  }
}

/// Destroys and frees what make_in_slab() has made.
template<class T>
void free_in_slab(T* object) noexcept {
  std::destroy_at(object);
  deallocate(object, sizeof(T));
}

} // namespace rubato::detail
