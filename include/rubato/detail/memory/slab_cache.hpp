// What a thread has at hand of the slabs' blocks, by their size. docs/design/slab.md
//
// Programs compile this in: a change of the layout is a change of the library's binary interface.
#pragma once

#include "rubato/detail/base/api.hpp"
#include <cstddef>
#include <new>

namespace rubato::detail {

/// The sizes of blocks: 32, 48 and whole cache lines. Neighbours may belong to different threads, and a
/// thread uses the same few blocks again and again. The size of a type is a multiple of its alignment; so a
/// type aligned to 64 bytes gets blocks aligned to 64 bytes.
struct slab_classes {
  static constexpr std::size_t line = 64, small_lines = 8, large_step = 256, number = 16, magazine_size = 64;
  static constexpr std::size_t largest_small = line * small_lines, largest = 2048;

  [[nodiscard, gnu::always_inline]] static constexpr std::size_t of(std::size_t bytes) noexcept {
    if (bytes <= 48) return bytes <= 32 ? 0 : 1;
    return bytes <= largest_small ? 1 + (bytes + line - 1) / line
                                  : 2 + small_lines + (bytes - largest_small - 1) / large_step;
  }
  [[nodiscard]] static constexpr std::size_t size(std::size_t c) noexcept {
    if (c < 2) return c == 0 ? 32 : 48;
    return c < 2 + small_lines ? (c - 1) * line : largest_small + (c - 1 - small_lines) * large_step;
  }
};

struct slab_block {
  slab_block* next;
};

/// A stack of blocks. In the depot it is linked through its first one.
struct slab_magazine {
  slab_block* top = nullptr;
  std::size_t loaded = 0;

  [[gnu::always_inline]] void push(void* memory) noexcept {
    auto* const b = ::new (memory) slab_block;
    b->next = top;
    top = b;
    ++loaded;
  }
  /// The stack is not empty.
  [[nodiscard, gnu::always_inline]] void* pop() noexcept {
    slab_block* const b = top;
    top = b->next;
    --loaded;
    return b;
  }
};

/// Of one thread and one class. Two magazines, so that a thread at the border does not run to the depot each
/// time; and memory that was never used.
struct slab_shelf {
  slab_magazine first, second;
  std::byte* fresh = nullptr;
  std::byte* end = nullptr;
  unsigned chunks = 0; ///< small ones that were got so far
};

/// Of one thread.
struct alignas(64) slab_cache {
  slab_shelf shelves[slab_classes::number];
};

/// Stands for the cache of a thread that has none, and under AddressSanitizer for that of every thread: each
/// first magazine is empty to allocate() and full to deallocate(). Nothing is ever written to it.
[[gnu::visibility("default")]] extern slab_cache const no_slab_cache;

/// The calling thread's. The pointer alone is thread-local: a library that is loaded late finds a few hundred
/// bytes at most for thread-locals that cost no call (docs/plugins.md).
#if defined(__clang__)
[[gnu::tls_model("initial-exec"),
  gnu::visibility("default")]] inline thread_local constinit slab_cache* own_slabs =
    const_cast<slab_cache*>(&no_slab_cache); // NOLINT(cppcoreguidelines-pro-type-const-cast)
#else                                        // as `current` in thread_context.hpp
[[gnu::tls_model("initial-exec"),
  gnu::visibility("default")]] extern constinit thread_local slab_cache* own_slabs;
#endif

// Where the first magazine does not serve.
[[nodiscard]] RUBATO_API void* allocate_slowly(std::size_t bytes);
RUBATO_API void deallocate_slowly(void* memory, std::size_t bytes) noexcept;

} // namespace rubato::detail
