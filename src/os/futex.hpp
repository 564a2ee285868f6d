// Sleeping in the kernel on a 32-bit word, private to the process.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace rubato::os {

using futex_word = std::atomic<std::uint32_t>;

/// Sleeps while `word == expected`. May return for no reason (a signal, a wake meant for another thread):
/// recheck.
void wait(futex_word const& word, std::uint32_t expected) noexcept;

/// As wait(), but no longer than until `deadline`. False: timed out. True: everything else, including for no
/// reason. If the word differs already, the answer is true even if the deadline has passed.
bool wait_until(futex_word const& word, std::uint32_t expected,
                std::chrono::steady_clock::time_point deadline) noexcept;

/// Wakes at most `count` of the sleepers on `word`; returns how many. Only the address is used, so the word
/// may be gone already: then another sleeper at the same address wakes for no reason, as wait() allows.
unsigned wake(futex_word const& word, unsigned number) noexcept;

} // namespace rubato::os
