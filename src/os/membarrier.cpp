#include "os/membarrier.hpp"

#include "os/die.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <linux/membarrier.h>
#include <string_view>
#include <sys/syscall.h>
#include <unistd.h>

namespace rubato::os {

namespace {

constinit std::atomic<bool> refused{false};

bool command(int number) noexcept { return ::syscall(SYS_membarrier, number, 0, 0) == 0; }

} // namespace

bool detail::ask_for_membarrier() noexcept {
  char const* const no = std::getenv("RUBATO_NO_MEMBARRIER");
  return (no == nullptr || *no == '\0' || std::string_view(no) == "0") &&
         command(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && command(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

bool membarrier_available() noexcept {
  static bool const available = detail::ask_for_membarrier();
  return available && !refused.load(std::memory_order_relaxed); // relaxed: it guards nothing but itself
}

void membarrier() noexcept {
  if (command(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) [[likely]]
    return;
  // A child of fork() inherits the registration, as it inherits all of its parent's memory description. The
  // manual does not promise it, so a process that is told it never registered does so now.
  if (errno == EPERM && command(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
      command(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
    return;
  // Threads that rely on it have left out fences: to go on would be to corrupt memory.
  die("the kernel has ceased to provide membarrier; run with RUBATO_NO_MEMBARRIER=1");
}

void refuse_membarrier(bool refuse) noexcept { refused.store(refuse, std::memory_order_relaxed); }

} // namespace rubato::os
