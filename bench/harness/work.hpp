// The work that scenarios hand to a contender: the same instructions for every scheduler.
// rust/common/src/work.rs says the same in Rust.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace bench {

/// Makes the compiler believe that `value` is used and may have changed, at the price of no instruction.
template<class T>
[[gnu::always_inline]] inline T keep(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

/// A value that the compiler knows nothing of, but that is no side effect: with those of keep() in a loop
/// clang reads again, for every item, where the array is.
template<class T>
[[gnu::always_inline]] inline T opaque(T value) {
  asm("" : "+r"(value));
  return value;
}

/// How many steps of busy() take about 10 ns here; the runner measures it once ("calibrate") and tells every
/// process.
inline const std::uint64_t busy_steps = [] {
  const char* given = std::getenv("RUBATO_BENCH_STEPS");
  return given ? std::strtoull(given, nullptr, 10) : 8ULL;
}();

inline thread_local constinit std::uint64_t busy_state = 1;

/// A chain of dependent multiplications. It goes through the thread's own state, so that a core cannot
/// overlap one item's chain with the next one's, as it would with chains that know nothing of each other.
/// keep: eight steps are one multiplication to a compiler that may reorder them.
[[gnu::always_inline]] inline void busy(std::uint64_t steps) {
  std::uint64_t x = busy_state;
  for (; steps != 0; --steps) x = keep(x * 6364136223846793005U + 1442695040888963407U);
  busy_state = x;
}

/// What every item of a "-10ns" scenario does, and what the items of the others do not.
template<bool Busy>
[[gnu::always_inline]] inline void item_work() {
  if constexpr (Busy) busy(busy_steps);
}

/// `rounds` rounds of a 64-bit mixer, each fed with the last.
inline std::uint64_t hash_rounds(std::uint64_t seed, unsigned rounds) {
  std::uint64_t h = seed;
  for (unsigned i = 0; i != rounds; ++i) {
    h = (h ^ i) * 0xff51afd7ed558ccdU;
    h ^= h >> 33;
  }
  return h;
}

} // namespace bench
