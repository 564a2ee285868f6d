// Where the production policy meets the system.
#include "rubato/detail/base/policy.hpp"

#include "rubato/detail/base/deadline.hpp"

#include "os/futex.hpp"
#include "os/io/epoll.hpp"
#include "os/membarrier.hpp"
#include "os/sanitizers.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace rubato::detail {

void std_policy::fence() noexcept {
#if defined(RUBATO_UNDER_TSAN)
  // ThreadSanitizer does not see fences, and g++ says so; its read-modify-writes are full fences.
  static constinit std::atomic<unsigned> nothing{0};
  nothing.fetch_add(0, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

void std_policy::heavy_barrier() noexcept {
  if (os::membarrier_available()) [[likely]]
    os::membarrier();
  else // the other side executes fences of its own
    fence();
}

void std_policy::futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  os::wait(word, expected);
}

bool std_policy::futex_wait_until(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                                  deadline const& until) noexcept {
  return os::wait_until(word, expected, until.at);
}

void std_policy::futex_wake(std::atomic<std::uint32_t>& word, unsigned number) noexcept {
  os::wake(word, number);
}

void std_policy::poke() noexcept { os::poke(); }

void std_policy::pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory"); // NOLINT(hicpp-no-assembler): `yield` does nothing on most cores
#endif
}

void std_policy::back_off(unsigned round) noexcept {
  using namespace std::chrono_literals;
  constexpr unsigned yields = 16;
  constexpr std::chrono::microseconds first_sleep = 50us, longest_sleep = 1ms;
  if (round < spins) return pause();
  if (round < spins + yields) return std::this_thread::yield();
  unsigned const doublings = std::min(round - spins - yields, 5U);
  std::this_thread::sleep_for(std::min(first_sleep * (1U << doublings), longest_sleep));
}

} // namespace rubato::detail
