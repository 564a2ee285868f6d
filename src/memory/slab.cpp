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

// The size of a type is a multiple of its alignment; so a type aligned to 64 bytes gets blocks aligned to 64
// bytes.
constexpr std::size_t step = 16, smallest = 32, small_classes = 31, large_step = 256, classes = 37;
constexpr std::size_t largest_small = smallest + step * (small_classes - 1);
constexpr std::size_t largest = largest_small + large_step * (classes - small_classes);
constexpr std::size_t alignment = 64;
constexpr std::size_t magazine_size = 64, chunk_size = 64 * 1024;
// A shelf that has grown by as much as a huge page in small chunks goes on in huge pages: a page fault costs
// as much as five tasks.
constexpr unsigned small_chunks = 32;
static_assert(small_chunks * chunk_size == os::huge_page);

struct block {
  block* next;
};

/// A stack of blocks. In the depot it is linked through its first one.
struct magazine {
  block* top = nullptr;
  std::size_t loaded = 0;

  void push(void* memory) noexcept {
    auto* const b = ::new (memory) block;
    b->next = top;
    top = b;
    ++loaded;
  }
  /// The stack is not empty.
  [[nodiscard]] void* pop() noexcept {
    block* const b = top;
    top = b->next;
    --loaded;
    return b;
  }
};

struct stored_magazine : block {
  stored_magazine* below;
  std::size_t loaded;
};
static_assert(sizeof(stored_magazine) <= smallest);

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

/// Of one thread and one class. Two magazines, so that a thread at the border does not run to the depot each
/// time; and memory that was never used.
struct shelf {
  magazine first, second;
  std::byte* fresh = nullptr;
  std::byte* end = nullptr;
  unsigned chunks = 0; ///< small ones that were got so far
};

/// Of one thread. In memory of its own: a library that is loaded late finds a few hundred bytes at most for
/// thread-locals that cost no call (docs/plugins.md), and this takes two thousand.
struct alignas(alignment) cache {
  std::array<shelf, classes> shelves;
};

/// Stands for the cache of a thread that has none, so that allocate() and deallocate() need no test for it:
/// each first magazine is empty to the one and full to the other. Nothing is ever written to it.
struct no_cache : cache {
  constexpr no_cache() noexcept {
    for (shelf& s : shelves) s.first.loaded = magazine_size;
  }
};
constinit no_cache const nothing;

[[gnu::tls_model("initial-exec")]] thread_local constinit cache* mine =
    const_cast<no_cache*>(&nothing); // NOLINT(cppcoreguidelines-pro-type-const-cast)
/// The thread's destructors have run; blocks that it frees from now on go to the depot alone.
[[gnu::tls_model("initial-exec")]] thread_local constinit bool over = false;

[[nodiscard]] constexpr std::size_t class_of(std::size_t bytes) noexcept {
  if (bytes <= smallest) return 0;
  return bytes <= largest_small ? (bytes - smallest + step - 1) / step
                                : small_classes + (bytes - largest_small - 1) / large_step;
}
[[nodiscard]] constexpr std::size_t size_of_class(std::size_t c) noexcept {
  return c < small_classes ? smallest + c * step : largest_small + (c + 1 - small_classes) * large_step;
}
static_assert(size_of_class(class_of(33)) == 48 && size_of_class(class_of(512)) == 512 &&
              size_of_class(class_of(513)) == 768 && class_of(largest) == classes - 1);

/// Everything goes to the depot when the thread ends.
struct at_end_of_thread {
  at_end_of_thread() noexcept = default;
  at_end_of_thread(at_end_of_thread const&) = delete;
  at_end_of_thread& operator=(at_end_of_thread const&) = delete;
  ~at_end_of_thread() {
    cache* const ended =
        std::exchange(mine, const_cast<no_cache*>(&nothing)); // NOLINT(cppcoreguidelines-pro-type-const-cast)
    over = true;
    for (std::size_t c = 0; c != classes; ++c) {
      shelf& s = ended->shelves[c];
      for (; s.fresh != s.end; s.fresh += size_of_class(c)) s.first.push(s.fresh);
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
  if (mine != &nothing) return true;
  if (over) return false;
  auto* const made = new (std::nothrow) cache;
  if (made == nullptr) return false;
  mine = made;
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
void get_fresh(shelf& s, std::size_t size) {
  bool const grown = s.chunks == small_chunks;
  void* const huge = grown ? huge_chunk() : nullptr;
  s.fresh = static_cast<std::byte*>(huge != nullptr ? huge : from_system(chunk_size));
  s.end = s.fresh + (huge != nullptr ? os::huge_page : chunk_size) / size * size;
  if (!grown) ++s.chunks;
}

/// The first magazine is empty.
[[gnu::noinline]] void* allocate_slowly(std::size_t c) {
  if (!ensure_cache()) return from_system(size_of_class(c));
  shelf& s = mine->shelves[c];
  if (s.second.loaded != 0 || depots[c].get(s.second)) {
    std::swap(s.first, s.second);
    return s.first.pop();
  }
  if (s.fresh == s.end) get_fresh(s, size_of_class(c));
  return std::exchange(s.fresh, s.fresh + size_of_class(c));
}

/// The first magazine is full, or the thread has no cache.
[[gnu::noinline]] void deallocate_slowly(void* memory, std::size_t c) noexcept {
  if (!ensure_cache()) {
    magazine single;
    single.push(memory);
    depots[c].give(single);
    return;
  }
  shelf& s = mine->shelves[c];
  if (s.first.loaded >= magazine_size) {
    if (s.second.loaded >= magazine_size) depots[c].give(s.second);
    std::swap(s.first, s.second);
  }
  s.first.push(memory);
}

} // namespace

void* allocate(std::size_t bytes) {
  if (!recycles || bytes > largest) [[unlikely]]
    return from_system(bytes);
  std::size_t const c = class_of(bytes);
  magazine& m = mine->shelves[c].first;
  if (m.top == nullptr) [[unlikely]]
    return allocate_slowly(c);
  return m.pop();
}

void deallocate(void* memory, std::size_t bytes) noexcept {
  if (!recycles || bytes > largest) [[unlikely]] {
    ::operator delete(memory, std::align_val_t{alignment});
    return;
  }
  std::size_t const c = class_of(bytes);
  magazine& m = mine->shelves[c].first;
  if (m.loaded >= magazine_size) [[unlikely]]
    deallocate_slowly(memory, c);
  else
    m.push(memory);
}

void lock_slabs() noexcept RUBATO_NOT_ANALYSED {
  for (auto& d : depots) d.lock.lock();
}
void unlock_slabs() noexcept RUBATO_NOT_ANALYSED {
  for (auto& d : depots) d.lock.unlock();
}

} // namespace rubato::detail
