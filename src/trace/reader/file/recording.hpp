// A file of rings, as it was read. docs/design/trace.md
#pragma once

#include "rubato/detail/trace/event.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::detail {

/// The program or a library, as it lay in the memory of the process.
struct recorded_module {
  std::uint64_t load_address = 0, first = 0, last = 0;
  std::string build_id, path;
};

/// Of the part of a file that says which modules were loaded.
[[nodiscard]] std::vector<recorded_module> modules_in(std::string_view text);
/// Throws std::runtime_error: the words at the start of the file at `path` are no header of this version.
void check_header(std::span<std::uint64_t const> header, std::string const& path);

/// The events of one thread, in order.
struct recorded_ring {
  std::uint64_t thread = 0; ///< the kernel's number
  std::string name;
  std::vector<trace_event> events;
  std::uint64_t lost = 0; ///< that were overwritten
  // Shares of the time since its ring began; -1: unknown.
  double on_cpu = -1;
  double without_cpu = -1; ///< ready to run
  /// How often it has left its CPU to wait in the kernel. 0: not known.
  std::uint64_t switches = 0;
};

class recording {
  std::string texts_;
  std::uint64_t start_ticks_ = 0;
  double ns_per_tick_ = 1;

  void read_header(std::string const& path);
  /// Returns where the threads' names are among the texts.
  [[nodiscard]] std::vector<std::uint64_t> read_rings(std::string const& path, std::uint64_t number,
                                                      std::uint64_t capacity, std::uint64_t stride);
  void measure_clock() noexcept;

public:
  /// Reads a file, whether its process lives or not. Throws std::runtime_error: it is none, or it cannot be
  /// read.
  explicit recording(std::string const& path);

  std::uint64_t process = 0;
  std::int64_t start_ns = 0; ///< CLOCK_MONOTONIC at the start
  std::uint64_t untraced = 0, unnamed = 0;
  std::vector<recorded_module> modules;
  std::vector<recorded_ring> rings;

  /// Since the start.
  [[nodiscard]] std::int64_t ns(std::uint64_t ticks) const noexcept {
    return static_cast<std::int64_t>(static_cast<double>(static_cast<std::int64_t>(ticks - start_ticks_)) *
                                     ns_per_tick_);
  }
  /// A text of the file; empty: there is none at that offset.
  [[nodiscard]] std::string_view text(std::uint64_t offset) const noexcept;
};

} // namespace rubato::detail
