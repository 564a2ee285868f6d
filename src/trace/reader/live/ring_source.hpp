// The rings of a process that runs: what was written since the last look. docs/design/live.md
#pragma once

#include "os/clock.hpp"
#include "os/io/input_file.hpp"
#include "rubato/detail/trace/event.hpp"
#include "trace/reader/file/recording.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::detail {

/// New events of one ring, in order.
struct ring_news {
  std::uint32_t ring = 0;
  std::uint64_t thread = 0;     ///< the kernel's number
  std::uint64_t name = 0;       ///< of the thread: where it is among the texts
  bool has_new_owner = false;   ///< the ring was of no thread before, or of another one
  bool has_lost_events = false; ///< events before these were overwritten before they were read
  std::span<trace_event const> events;
};

class ring_source {
  struct place {
    std::uint64_t next = 0, first = 0, thread = 0;
    bool is_known = false;
  };

  os::input_file file_;
  std::string path_; // for messages
  std::uint64_t capacity_ = 0, stride_ = 0, start_ticks_ = 0;
  double ns_per_tick_ = 1;
  std::vector<place> places_; // by ring
  std::vector<trace_event> events_;
  std::string texts_;
  bool texts_are_new_ = false; // read since the last look

  template<class T>
  bool read(std::uint64_t offset, T* into, std::size_t n) const noexcept;
  void read_ring(std::uint32_t number, std::function<void(ring_news const&)> const& take);
  void read_texts();

public:
  /// Reads the header. Throws std::runtime_error: it is no file of rings.
  void open(os::input_file file, std::string path);
  void close() noexcept { file_.close(); }

  std::uint64_t process = 0;
  std::vector<recorded_module> modules;

  /// Calls it for each ring that has something new.
  void read(std::function<void(ring_news const&)> const& take);
  /// That it keeps; without those of one look.
  [[nodiscard]] std::size_t bytes() const noexcept { return places_.size() * sizeof(place) + texts_.size(); }
  /// Since the start of the trace.
  [[nodiscard]] std::int64_t ns(std::uint64_t ticks) const noexcept {
    return static_cast<std::int64_t>(static_cast<double>(static_cast<std::int64_t>(ticks - start_ticks_)) *
                                     ns_per_tick_);
  }
  [[nodiscard]] std::int64_t now() const noexcept { return ns(static_cast<std::uint64_t>(os::now())); }
  [[nodiscard]] bool process_lives() const noexcept;
  /// A text of the file; empty: there is none at that offset.
  [[nodiscard]] std::string text(std::uint64_t offset);
};

} // namespace rubato::detail
