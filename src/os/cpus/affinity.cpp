#include "os/cpus/affinity.hpp"

#include "os/thread.hpp"

#include <cerrno>
#include <climits>
#include <memory>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>

namespace rubato::os {

namespace {

constexpr std::size_t word_bits = sizeof(unsigned long) * CHAR_BIT;
constexpr std::size_t most_cpus = std::size_t{1} << 20; // beyond any kernel

void delete_mask(void* mask) { std::unique_ptr<cpu_mask> const gone(static_cast<cpu_mask*>(mask)); }

/// Where each thread keeps its mask from before its first pin.
end_of_thread const& mask_keeper() noexcept {
  static end_of_thread const keeper(delete_mask);
  return keeper;
}

/// Of the calling thread. Null: not pinned.
cpu_mask const* before_pin() noexcept { return static_cast<cpu_mask const*>(mask_keeper().kept()); }

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
  cpu_mask const* const before = before_pin();
  return before != nullptr ? *before : none;
}

std::vector<int> affinity_cpus() {
  cpu_mask const* const before = before_pin();
  return (before == nullptr ? cpu_mask::current() : *before).cpus();
}

bool pin(int cpu) noexcept try {
  cpu_mask const only(std::span(&cpu, 1)); // whatever throws, does so before the old mask is kept
  std::unique_ptr<cpu_mask> before;
  if (before_pin() == nullptr) {
    before = std::make_unique<cpu_mask>(cpu_mask::current());
    // An empty one says that the kernel did not tell: as good as none.
    if (before->empty()) before = nullptr;
    if (before != nullptr && !mask_keeper().keep(before.get())) return false;
  }
  if (only.apply()) {
    static_cast<void>(before.release()); // kept
    return true;
  }
  if (before != nullptr) static_cast<void>(mask_keeper().keep(nullptr));
  return false;
} catch (std::bad_alloc const&) {
  return false;
}

bool unpin() noexcept {
  cpu_mask const* const before = before_pin();
  if (before == nullptr) return true;
  if (!before->apply() || !mask_keeper().keep(nullptr)) return false;
  std::unique_ptr<cpu_mask const> const gone(before);
  return true;
}

} // namespace rubato::os
