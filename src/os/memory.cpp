#include "os/memory.hpp"

#include "os/die.hpp"

#include <cstdint>
#include <new>
#include <sys/mman.h>

namespace rubato::os {

namespace {

void* map(std::size_t bytes) {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

} // namespace

void* reserve(std::size_t bytes) {
  void* const memory = map(bytes);
  // A huge page would commit, and clear, 2 MiB at the first write. A kernel without huge
  // pages refuses, which does no harm.
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  return memory;
}

void* reserve_huge(std::size_t bytes) {
  auto* const wide = static_cast<std::byte*>(map(bytes + huge_page));
  std::size_t const before = -reinterpret_cast<std::uintptr_t>(wide) % huge_page;
  // If the kernel's tables have no room, only address space stays reserved.
  if (before != 0) ::munmap(wide, before);
  ::munmap(wide + before + bytes, huge_page - before);
  ::madvise(wide + before, bytes, MADV_HUGEPAGE); // where it fails, small pages do as well
  return wide + before;
}

void release(void* memory, std::size_t bytes) noexcept {
  if (::munmap(memory, bytes) != 0) die("release() of memory that reserve() did not return");
}

} // namespace rubato::os
