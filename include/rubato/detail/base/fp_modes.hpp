// The floating-point modes of a thread: how it rounds, whether it flushes denormal numbers to zero, which
// exceptions trap. A piece of a loop has those of the thread that called the loop, so that its result does
// not depend on which thread runs it. docs/design/loops.md
#pragma once

#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace rubato::detail {

/// A thread's modes, without the flags that tell of past exceptions.
class fp_modes {
#if defined(__x86_64__)
  static constexpr std::uint32_t sse_flags = 0x3f;
  static constexpr std::uint16_t x87_flags = 0x3f; // in the control word: which of them do not trap
  std::uint32_t sse_ = 0;
  std::uint16_t x87_ = 0;

  static std::uint32_t read_sse() noexcept {
    std::uint32_t word = 0;
    asm volatile("stmxcsr %0" : "=m"(word) : : "memory");
    return word;
  }
#elif defined(__aarch64__)
  std::uint64_t control_ = 0;
#else
  int rounding_ = 0;
#endif

public:
  [[nodiscard]] static fp_modes of_this_thread() noexcept {
    fp_modes now;
#if defined(__x86_64__)
    now.sse_ = read_sse() & ~sse_flags;
    asm volatile("fnstcw %0" : "=m"(now.x87_) : : "memory");
#elif defined(__aarch64__)
    asm volatile("mrs %0, fpcr" : "=r"(now.control_) : : "memory");
#else
    now.rounding_ = std::fegetround();
#endif
    return now;
  }

  /// For the calling thread. Its flags remain, except those for which the x87 unit would trap at once.
  void apply() const noexcept {
#if defined(__x86_64__)
    std::uint32_t const sse = sse_ | (read_sse() & sse_flags);
    asm volatile("ldmxcsr %0" : : "m"(sse) : "memory");
    std::uint16_t status = 0;
    asm volatile("fnstsw %0" : "=m"(status) : : "memory");
    if ((status & ~x87_ & x87_flags) != 0) asm volatile("fnclex" : : : "memory");
    asm volatile("fldcw %0" : : "m"(x87_) : "memory");
#elif defined(__aarch64__)
    asm volatile("msr fpcr, %0" : : "r"(control_) : "memory");
#else
    std::fesetround(rounding_);
#endif
  }

  bool operator==(fp_modes const&) const = default;
};

/// While it lives the calling thread has these modes, afterwards those from before.
class fp_modes_in_force {
  fp_modes const before_ = fp_modes::of_this_thread();

public:
  explicit fp_modes_in_force(fp_modes const& wanted) noexcept {
    if (!(wanted == before_)) wanted.apply(); // to write costs ten times as much as to read
  }
  fp_modes_in_force(fp_modes_in_force const&) = delete;
  fp_modes_in_force& operator=(fp_modes_in_force const&) = delete;
  ~fp_modes_in_force() {
    if (!(before_ == fp_modes::of_this_thread())) before_.apply();
  }
};

} // namespace rubato::detail
