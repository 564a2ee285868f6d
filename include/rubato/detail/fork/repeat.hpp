// The inner loop of a chunk.
#pragma once

#include <cstdint>

namespace rubato::detail {

/// Calls step() n times. g++ vectorises the loop and leaves it short, and a processor may run a short one at
/// half the speed where it crosses a cache line of code. So it is unrolled once. It counts a number and calls
/// a lambda: where the condition is a call, or nothing ever returns from the body, g++ 12 warns that there is
/// no loop to unroll, by a warning that cannot be switched off.
template<class Step>
[[gnu::always_inline]] inline void repeat(std::uint64_t n, Step step) {
#if !defined(__clang__)
#pragma GCC unroll 2
#endif
  for (; n != 0; --n) step();
}

} // namespace rubato::detail
