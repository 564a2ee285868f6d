// What one look shows, in words and numbers: the same for the terminal and for the page. docs/design/live.md
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rubato::detail {

enum class live_state : unsigned char { runs, waits, searches, sleeps };
[[nodiscard]] constexpr char const* word_of(live_state s) noexcept {
  return s == live_state::runs       ? "runs"
         : s == live_state::waits    ? "waits"
         : s == live_state::searches ? "searches"
                                     : "sleeps";
}

/// Per second, over the last second that was seen.
struct live_rates {
  double tasks = 0;  ///< begun
  double steals = 0; ///< work that came from another thread
  double wakes = 0;  ///< of sleeping threads
};

struct live_thread {
  std::string name;
  std::uint64_t thread = 0; ///< the kernel's number
  bool is_worker = false;
  live_state state = live_state::searches;
  std::string what;      ///< the name of what runs; of a thread that waits: the reason
  std::string in;        ///< of a thread that waits: what it runs
  std::string waits_for; ///< the name of the thread that runs what is waited for; empty: unknown
  std::int64_t since_ns = 0;
  double busy = 0;             ///< the share of the last second
  double cpu = -1;             ///< the same, on a CPU; below zero: unknown
  std::vector<double> history; ///< the same of each tenth of a second, the last one last
  live_rates rates;
};

/// Work went from one thread to another.
struct live_steal {
  std::string by, from, what;
  std::int64_t ago_ns = 0;
};

/// Coroutines that are suspended for one reason.
struct live_suspended {
  std::string what, reason;
  std::uint64_t number = 0;
  std::int64_t longest_ns = 0;
};

struct live_picture {
  std::uint64_t process = 0;
  bool has_ended = false; ///< the process
  bool is_off = false;    ///< nothing is recorded
  std::int64_t at_ns = 0; ///< since the trace began
  live_rates rates;
  std::uint64_t queued = 0, suspended = 0; ///< tasks, coroutines
  bool is_partial = false;                 ///< events were lost: the two are at least so many
  std::vector<live_thread> threads;        ///< workers by name, then others
  std::vector<live_steal> steals;          ///< the last one first
  std::vector<live_suspended> waits;       ///< the most first
};

} // namespace rubato::detail
