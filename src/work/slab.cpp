// Memory for tasks: per-thread magazines of equal blocks, exchanged whole through a depot.
// docs/design/slab.md
//
// Source: J. Bonwick and J. Adams, "Magazines and Vmem", 2001. A block may be freed by another thread than
// the one that got it; a thread that only frees passes full magazines on, one that only allocates gets them,
// one lock for many blocks.
#include "work/slab.hpp"
#include "rubato/detail/mutex.hpp"
#include "rubato/detail/task.hpp"

#include <array>
#include <cstdlib>
#include <mutex>
#include <new>

#if !defined(__has_feature)
#define __has_feature(feature) 0
#endif

namespace rubato::detail {

namespace {

// Recycled blocks would hide uses after free from the sanitizer.
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
constexpr bool recycles = false;
#else
constexpr bool recycles = true;
#endif

constexpr std::size_t line = 64, classes = 4, magazine_size = 64;
constexpr std::size_t largest = line << (classes - 1);

struct block {
  block* next;
};

/// A stack of blocks; full ones are linked in the depot through their first block.
struct magazine {
  block* top = nullptr;
  std::size_t count = 0;

  void push(block* b) noexcept {
    b->next = top;
    top = b;
    ++count;
  }
  block* pop() noexcept {
    block* const b = top;
    if (b == nullptr) return nullptr;
    top = b->next;
    --count;
    return b;
  }
};

struct full_magazine : block {
  full_magazine* below; // in the depot
};

struct depot {
  mutex lock;
  full_magazine* full = nullptr;
};

// Never destroyed: tasks are freed by whoever comes last in the process.
constinit std::array<depot, classes> depots;

void give(depot& d, magazine& m) noexcept {
  auto* const f = static_cast<full_magazine*>(m.top);
  std::lock_guard const guard(d.lock);
  f->below = d.full;
  d.full = f;
  m = {};
}

bool get(depot& d, magazine& m) noexcept {
  std::lock_guard const guard(d.lock);
  if (d.full == nullptr) return false;
  m.top = d.full;
  m.count = magazine_size;
  d.full = d.full->below;
  return true;
}

std::size_t class_of(std::size_t bytes) noexcept {
  std::size_t c = 0;
  while ((line << c) < bytes) ++c;
  return c;
}

void* fresh(std::size_t bytes) { return ::operator new(bytes, std::align_val_t{line}); }

/// Two magazines, so that a thread at the border does not run to the depot each time.
struct cache {
  std::array<std::array<magazine, 2>, classes> shelves;
  ~cache();
};

thread_local constinit bool cache_gone = false;
thread_local cache mine;

cache::~cache() {
  // Odd numbers of blocks go back to the system: the depot knows full magazines only.
  for (auto& shelf : shelves)
    for (std::size_t c = static_cast<std::size_t>(&shelf - shelves.data()); magazine & m : shelf) {
      if (m.count == magazine_size) give(depots[c], m);
      while (block* b = m.pop()) ::operator delete(b, std::align_val_t{line});
    }
  cache_gone = true;
}

} // namespace

void* allocate(std::size_t bytes) {
  if (recycles && bytes <= largest && !cache_gone) {
    std::size_t const c = class_of(bytes);
    auto& shelf = mine.shelves[c];
    if (block* b = shelf[0].pop()) return b;
    if (shelf[1].count != 0 || get(depots[c], shelf[1])) {
      std::swap(shelf[0], shelf[1]);
      return shelf[0].pop();
    }
    return fresh(line << c);
  }
  return fresh(bytes);
}

void deallocate(void* memory, std::size_t bytes) noexcept {
  if (recycles && bytes <= largest && !cache_gone) {
    std::size_t const c = class_of(bytes);
    auto& shelf = mine.shelves[c];
    if (shelf[0].count == magazine_size) {
      if (shelf[1].count == magazine_size) give(depots[c], shelf[1]);
      std::swap(shelf[0], shelf[1]);
    }
    shelf[0].push(::new (memory) block);
    return;
  }
  ::operator delete(memory, std::align_val_t{line});
}

void lock_slabs() noexcept {
  for (auto& d : depots) d.lock.lock();
}
void unlock_slabs() noexcept {
  for (auto& d : depots) d.lock.unlock();
}

} // namespace rubato::detail
