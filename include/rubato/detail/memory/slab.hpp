// Memory for tasks and small objects. docs/design/slab.md
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace rubato::detail {

/// Memory for tasks, from the threads' caches; any thread may free it. Allocation and deallocation get the
/// same size. Throws std::bad_alloc.
[[nodiscard]] void* allocate(std::size_t bytes);
void deallocate(void* memory, std::size_t bytes) noexcept;

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
