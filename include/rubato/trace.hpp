// Records what the threads of a program do, for Perfetto and for the report of rubato-trace.
//
//   #include <rubato/join.hpp>
//   #include <rubato/trace.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     rubato::trace::start("example.trace");
//     {
//       rubato::trace::span const s("both halves"); // shown with this name
//       auto [a, b] = rubato::join([] { return 40; }, [] { return 2; });
//       std::printf("%d\n", a + b); // -> 42
//     }
//     rubato::trace::stop(); // open the file at https://ui.perfetto.dev
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/trace/note.hpp"

#include <cstddef>
#include <string>

/// The trace of the process. Any program records one without a change if the environment has
/// `RUBATO_TRACE=file`. All functions are thread-safe. docs/design/trace.md
namespace rubato::trace {

/// Begins to record. Each thread keeps its last 65,536 events (`RUBATO_TRACE_EVENTS`, rounded up to a power
/// of two) in `path` + ".rings", 1.5 MB a thread, which outlives the process, however it ends. In `path`, %p
/// stands for the number of the process. If another process records there, the number is appended.
///
/// Throws std::logic_error if the trace is on, and std::system_error if the file cannot be made. A thread for
/// which the disk has no room is not traced, and a line on the standard error output says so.
RUBATO_API void start(std::string const& path);

/// Stops recording, and converts what was recorded: `path` is a trace for Perfetto. `path` + ".rings" stays,
/// for `rubato-trace report`. Does nothing if the trace is off. Throws std::system_error if the file cannot
/// be written; the trace is off then, too.
RUBATO_API void stop();

/// Writes what the rings hold at this moment to `path`, as stop() would, and goes on recording. For a program
/// that always records, when something looks wrong. Throws std::logic_error if the trace is off, and
/// std::system_error if the file cannot be written.
RUBATO_API void snapshot(std::string const& path);

/// While it lives, the trace shows the calling thread in a span of this name. Destroy it on the same thread,
/// in the reverse order: so it must not live across a co_await. While the trace is off, it costs two loads.
class span {
  detail::noted_activity noted_;

public:
  /// A string literal: the trace keeps its address.
  template<std::size_t N>
  explicit span(char const (&literal)[N]) noexcept
      : noted_(detail::activity::span, this, detail::trace_word(literal)) {}
  span(span const&) = delete;
  span& operator=(span const&) = delete;
  ~span() = default;
};

} // namespace rubato::trace
