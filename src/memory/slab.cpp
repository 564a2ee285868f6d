// Memory for tasks: per-thread magazines of equal blocks, exchanged whole through a depot.
// docs/design/slab.md
//
// Source: J. Bonwick and J. Adams, "Magazines and Vmem", 2001. A block may be freed by another thread than
// the one that got it; a thread that only frees passes full magazines on, one that only allocates gets them,
// one lock for many blocks.
#include "rubato/detail/memory/slab.hpp"
#include "os/memory.hpp"
#include "os/sanitizers.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/base/mutex.hpp"

#include <array>
#include <cstddef>
#include <new>
#include <utility>

namespace rubato::detail {

namespace {

// Recycled blocks would hide uses after free from the sanitizer.
#if defined(RUBATO_UNDER_ASAN)
constexpr bool recycles = false;
#else
constexpr bool recycles = true;
#endif

using magazine = slab_magazine;
constexpr std::size_t classes = slab_classes::number, magazine_size = slab_classes::magazine_size;
constexpr std::size_t alignment = slab_classes::line, chunk_size = 64 * 1024;
// A processor fetches neighbouring lines ahead, but none beyond a page.
constexpr std::size_t chunk_alignment = 4096;
// A shelf that has grown by as much as a huge page in small chunks goes on in huge pages: a page fault costs
// as much as five tasks.
constexpr unsigned small_chunks = 32;
static_assert(small_chunks * chunk_size == os::huge_page);

struct stored_magazine : slab_block {
  stored_magazine* below;
  std::size_t loaded;
};
static_assert(sizeof(stored_magazine) <= slab_classes::size(0));

class depot {
  relaxed<stored_magazine*> top_; // changed under the lock

public:
  mutex lock;

  void give(magazine& m) noexcept {
    auto* const stored = static_cast<stored_magazine*>(m.top);
    stored->loaded = m.loaded;
    m = {};
    lock_guard const guard(lock);
    stored->below = top_.exchange(stored);
  }
  [[nodiscard]] bool get(magazine& m) noexcept {
    // Most often there is nothing, and a lock for each fresh block would cost more than the block.
    if (top_.get() == nullptr) return false;
    lock_guard const guard(lock);
    stored_magazine* const top = top_.get();
    if (top == nullptr) return false;
    m = {top, top->loaded};
    top_.set(top->below);
    return true;
  }
};

// Never destroyed: the last thread of the process may still free tasks.
constinit std::array<depot, classes> depots;

[[nodiscard]] constexpr slab_cache* no_cache() noexcept {
  return const_cast<slab_cache*>(&no_slab_cache); // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

/// The thread's destructors have run; blocks that it frees from now on go to the depot alone.
[[gnu::tls_model("initial-exec")]] thread_local constinit bool over = false;

constexpr bool fit(std::size_t bytes) noexcept {
  std::size_t const c = slab_classes::of(bytes);
  return bytes <= slab_classes::size(c) && (c == 0 || bytes > slab_classes::size(c - 1));
}
static_assert(fit(1) && fit(32) && fit(33) && fit(48) && fit(49) && fit(64) && fit(65) && fit(512) &&
              fit(513) && slab_classes::of(slab_classes::largest) == classes - 1);

/// Everything goes to the depot when the thread ends.
struct at_end_of_thread {
  at_end_of_thread() noexcept = default;
  at_end_of_thread(at_end_of_thread const&) = delete;
  at_end_of_thread& operator=(at_end_of_thread const&) = delete;
  ~at_end_of_thread() {
    slab_cache* const ended = std::exchange(own_slabs, no_cache());
    over = true;
    for (std::size_t c = 0; c != classes; ++c) {
      slab_shelf& s = ended->shelves[c];
      for (; s.fresh != s.end; s.fresh += slab_classes::size(c)) s.first.push(s.fresh);
      if (s.first.loaded != 0) depots[c].give(s.first);
      if (s.second.loaded != 0) depots[c].give(s.second);
    }
    delete ended;
  }
  void arm() const noexcept {} ///< the first use registers the destructor
};
thread_local at_end_of_thread const here;

/// False: the thread is over, or there is no memory.
[[nodiscard, gnu::noinline]] bool ensure_cache() noexcept {
  if (own_slabs != &no_slab_cache) return true;
  if (over) return false;
  auto* const made = new (std::nothrow) slab_cache;
  if (made == nullptr) return false;
  own_slabs = made;
  here.arm();
  return true;
}

[[nodiscard]] void* from_system(std::size_t bytes) {
  return ::operator new(bytes, std::align_val_t{alignment});
}

/// Null: there is none.
[[nodiscard]] void* huge_chunk() noexcept {
  try {
    return os::reserve_huge(os::huge_page);
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
}

/// Never used memory for blocks of that size.
void get_fresh(slab_shelf& s, std::size_t size) {
  bool const grown = s.chunks == small_chunks;
  void* const huge = grown ? huge_chunk() : nullptr;
  s.fresh = static_cast<std::byte*>(
      huge != nullptr ? huge : ::operator new(chunk_size, std::align_val_t{chunk_alignment}));
  s.end = s.fresh + (huge != nullptr ? os::huge_page : chunk_size) / size * size;
  if (!grown) ++s.chunks;
}

} // namespace

constinit slab_cache const no_slab_cache = [] {
  slab_cache none;
  for (slab_shelf& s : none.shelves) s.first.loaded = magazine_size;
  return none;
}();

#if !defined(__clang__)
constinit thread_local slab_cache* own_slabs = no_cache();
#endif

/// The first magazine is empty, or the block is no slab's.
[[gnu::noinline]] void* allocate_slowly(std::size_t bytes) {
  if (!recycles || bytes > slab_classes::largest) return from_system(bytes);
  std::size_t const c = slab_classes::of(bytes);
  if (!ensure_cache()) return from_system(slab_classes::size(c));
  slab_shelf& s = own_slabs->shelves[c];
  if (s.second.loaded != 0 || depots[c].get(s.second)) {
    std::swap(s.first, s.second);
    return s.first.pop();
  }
  if (s.fresh == s.end) get_fresh(s, slab_classes::size(c));
  return std::exchange(s.fresh, s.fresh + slab_classes::size(c));
}

/// The first magazine is full, the thread has no cache, or the block is no slab's.
[[gnu::noinline]] void deallocate_slowly(void* memory, std::size_t bytes) noexcept {
  if (!recycles || bytes > slab_classes::largest) {
    ::operator delete(memory, std::align_val_t{alignment});
    return;
  }
  std::size_t const c = slab_classes::of(bytes);
  if (!ensure_cache()) {
    magazine single;
    single.push(memory);
    depots[c].give(single);
    return;
  }
  slab_shelf& s = own_slabs->shelves[c];
  if (s.first.loaded >= magazine_size) {
    if (s.second.loaded >= magazine_size) depots[c].give(s.second);
    std::swap(s.first, s.second);
  }
  s.first.push(memory);
}

void* allocate(std::size_t bytes) { return allocate_here(bytes); }
void deallocate(void* memory, std::size_t bytes) noexcept { deallocate_here(memory, bytes); }

void lock_slabs() noexcept RUBATO_NOT_ANALYSED {
  for (auto& d : depots) d.lock.lock();
}
void unlock_slabs() noexcept RUBATO_NOT_ANALYSED {
  for (auto& d : depots) d.lock.unlock();
}

} // namespace rubato::detail
