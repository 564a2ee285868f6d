#include "os/memory.hpp"

#include "os/die.hpp"

#include <new>
#include <sys/mman.h>

namespace rubato::os {

void* reserve(std::size_t bytes) {
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // A huge page would commit, and clear, 2 MiB at the first write. Where the kernel has none, it refuses: as
  // well.
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
  return memory;
}

void release(void* memory, std::size_t bytes) noexcept {
  if (::munmap(memory, bytes) != 0) die("release() of memory that reserve() did not return");
}

} // namespace rubato::os
