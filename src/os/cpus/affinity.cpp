#include "os/cpus/affinity.hpp"

#include "os/thread.hpp"

#include <cerrno>
#include <climits>
#include <memory>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace rubato::os {

namespace {

constexpr std::size_t word_bits = sizeof(unsigned long) * CHAR_BIT;
constexpr std::size_t most_cpus = std::size_t{1} << 20; // beyond any kernel

// A pointer without a destructor, since a library that is loaded late finds little memory for thread-locals.
// Null: not pinned.
thread_local constinit cpu_mask* before_pin = nullptr;

void forget_mask(void* /*none*/) { std::unique_ptr<cpu_mask> const gone(std::exchange(before_pin, nullptr)); }

/// The calling thread's mask is deleted when it ends.
bool delete_at_end() noexcept {
  static end_of_thread const end(forget_mask);
  return end.await_here();
}

} // namespace

cpu_mask::cpu_mask(std::span<int const> cpus) {
  for (int const cpu : cpus) {
    auto const bit = static_cast<std::size_t>(cpu); // a negative one becomes too large
    if (bit >= most_cpus) continue;
    if (words_.size() <= bit / word_bits) words_.resize(bit / word_bits + 1);
    words_[bit / word_bits] |= 1UL << bit % word_bits;
  }
}

// The plain system calls, since those of the C library want a type of fixed size.
cpu_mask cpu_mask::of(int thread) {
  cpu_mask mask;
  for (std::size_t bits = 1024; bits <= most_cpus; bits *= 2) {
    mask.words_.assign(bits / word_bits, 0);
    if (::syscall(SYS_sched_getaffinity, thread, mask.words_.size() * sizeof(unsigned long),
                  mask.words_.data()) > 0)
      return mask;
    if (errno != EINVAL) // which means: this kernel has more CPUs
      break;
  }
  return {};
}

cpu_mask cpu_mask::of_process() { return of(::getpid()); }

std::vector<int> cpu_mask::cpus() const {
  std::vector<int> result;
  for (std::size_t bit = 0; bit < words_.size() * word_bits; ++bit)
    if ((words_[bit / word_bits] >> bit % word_bits & 1) != 0) result.push_back(static_cast<int>(bit));
  return result;
}

bool cpu_mask::apply() const noexcept {
  return ::syscall(SYS_sched_setaffinity, 0, words_.size() * sizeof(unsigned long), words_.data()) == 0;
}

cpu_mask const& mask_before_pin() noexcept {
  static cpu_mask const none;
  return before_pin != nullptr ? *before_pin : none;
}

std::vector<int> affinity_cpus() {
  return (before_pin == nullptr ? cpu_mask::current() : *before_pin).cpus();
}

bool pin(int cpu) noexcept try {
  auto before = before_pin == nullptr ? std::make_unique<cpu_mask>(cpu_mask::current()) : nullptr;
  if (before != nullptr && !delete_at_end()) return false;
  if (!cpu_mask(std::span(&cpu, 1)).apply()) return false;
  // An empty one says that the kernel did not tell: as good as none.
  if (before != nullptr && !before->empty()) before_pin = before.release();
  return true;
} catch (std::bad_alloc const&) {
  return false;
}

bool unpin() noexcept {
  if (before_pin != nullptr && !before_pin->apply()) return false;
  forget_mask(nullptr);
  return true;
}

} // namespace rubato::os
