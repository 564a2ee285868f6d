// What a suspended coroutine looks like, and those that it waits for, copied while they stay as they are.
// docs/design/dump.md
#pragma once

#include "rubato/detail/coro/coroutine_task.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rubato::detail {

/// One line of execution at one moment. Addresses are numbers here: what is there may be gone.
struct coroutine_view {
  enum class condition : unsigned char {
    waits, ///< for something of the library's
    ready, ///< queued, or about to be
    runs   ///< or awaits something of another library, or has not begun
  };
  /// Where what it waits for goes on.
  enum class link : unsigned char {
    none,  ///< that is no coroutine, or has ended
    next,  ///< the next of the chain
    above, ///< one that is in the chain already
    cut    ///< one that was not looked at, since the chain is long
  };
  condition is = condition::runs;
  link goes_on = link::none;
  bool has_begun = false; ///< false: that is unknown
  // If it waits, or is ready because such a wait has ended:
  bool has_more = false; ///< frames than were copied
  std::uint32_t frames = 0;
  int descriptor = -1;
  std::uint64_t wait = 0;   ///< the type of the wait; 0: none of the library's
  std::uintptr_t group = 0; ///< the coroutine whose group it is a member of
  std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
  std::uintptr_t result = 0;         ///< the work whose result it waits for
  std::uint32_t result_begun_by = 0; ///< 1 + the number of a thread
  bool result_is_ready = false;

  std::uintptr_t address = 0;
};

/// A coroutine, and what it waits for. Its memory is there before a coroutine is pinned.
class coroutine_chain {
public:
  static constexpr std::size_t longest = 16, most_frames = 64, longest_name = 64;
  struct entry : coroutine_view {
    std::array<std::uint64_t, most_frames> code; ///< with which each frame goes on, the innermost first
    std::array<char, longest_name> node;         ///< of a task graph; ended by a zero
  };

private:
  std::vector<entry> entries_ = std::vector<entry>(longest);
  std::size_t size_ = 0;

  void add(coroutine_task& t) noexcept;
  void copy(entry& v, coroutine_task& t, void* innermost, wait_operation& w) noexcept;
  void follow(entry& v, future_state& result) noexcept;

public:
  /// For a thread that keeps the first one from being destroyed.
  void look_at(coroutine_task& first) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] entry const& operator[](std::size_t i) const noexcept { return entries_[i]; }
};

} // namespace rubato::detail
