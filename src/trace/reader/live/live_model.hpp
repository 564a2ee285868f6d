// What the threads of a process do now, from their rings. docs/design/live.md
#pragma once

#include "trace/reader/file/symbols.hpp"
#include "trace/reader/live/live_picture.hpp"
#include "trace/reader/live/pending.hpp"
#include "trace/reader/live/ring_source.hpp"
#include "trace/reader/live/thread_activity.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace rubato::detail {

class live_model {
  struct steal {
    std::int64_t at = 0;
    std::uint32_t by = 0; // a ring
    std::uint64_t pool = 0, from = 0;
    bool is_from_seat = false; // from the queue of a seat: which thread has it, no event says
    unread_name what;
  };
  struct suspension {
    std::uint64_t where = 0; // code
    std::uint64_t reason = 0;
  };
  struct pool_seats {
    std::uint64_t ticks = 0; // since when
    bool is_any_free = true;
  };
  static constexpr std::size_t most_steals = 64;

  ring_source source_;
  std::unique_ptr<symbols> symbols_;
  bool is_open_ = false;
  std::int64_t now_ = 0, last_event_ = 0;
  std::vector<std::optional<thread_activity>> threads_; // by ring
  std::deque<steal> steals_;                            // the last one last
  std::vector<std::optional<steal>> got_;               // by ring: what its thread has not begun
  std::unordered_map<std::uint64_t, pool_seats> seats_; // of pools whose threads are known
  pending<bool> queued_;
  pending<suspension> suspended_;
  std::vector<std::uint64_t> stands_at_; // by ring: where the coroutine stands that is to be suspended
  std::unordered_map<std::uint64_t, std::string> code_names_, wait_names_, literals_;

  void take(ring_news const& news);
  void take(std::uint32_t on, std::int64_t at, trace_event const& e);
  [[nodiscard]] std::string name_of(unread_name n);
  [[nodiscard]] std::string name_of(thread_activity const& t);
  [[nodiscard]] thread_activity const* find_thread(std::uint64_t pool, std::uint64_t number) const noexcept;
  [[nodiscard]] live_thread picture_of(thread_activity const& t);
  [[nodiscard]] std::string source_of(steal const& s);
  [[nodiscard]] bool has_no_seat(std::uint64_t pool) const noexcept;
  void forget_pools();
  void measure(thread_activity& t) const noexcept;
  void add_steals(live_picture& p);
  void add_suspended(live_picture& p);

public:
  /// From now on it shows this process. Throws std::runtime_error: the file is none of rings.
  void open(os::input_file file, std::string path);
  /// Nothing is recorded.
  void close() noexcept;

  /// Reads what is new, and says what the threads do.
  [[nodiscard]] live_picture look();
  /// How much it keeps of what it has read, for tests: that does not grow with the run.
  [[nodiscard]] std::size_t entries() const noexcept;
};

} // namespace rubato::detail
