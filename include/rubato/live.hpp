// A live picture of what each thread does, in the terminal or in a browser.
//
//   #include <rubato/live.hpp>
//   #include <rubato/pool.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     rubato::live_view const view({.output = 2}); // {}: in the terminal; {.port = 8080}: in a browser
//     rubato::pool pool(2);
//     std::printf("%d\n", pool.spawn([] { return 42; }).get()); // -> 42
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace rubato {

namespace detail {
class live_session;
} // namespace detail

/// Where a live view is shown, and how often.
struct live_options {
  /// From 1,024 on: a page for browsers on this machine, see live_view::url(). 0: the terminal.
  unsigned port = 0;
  /// The descriptor to which frames are written. -1: the terminal of the process (`/dev/tty`), or the
  /// standard error output if there is none.
  int output = -1;
  unsigned frames_per_second = 0; ///< at most 60; 0: ten on a terminal or a page, one elsewhere
  std::size_t frames = 0;         ///< it ends after so many; 0: when it is destroyed
  unsigned width = 0;             ///< columns; 0: the terminal's, or 100
};

/// While it lives, one thread of its own shows what each worker does, the rates, the queues, and which thread
/// took work from which. Any program shows the same without a change if the environment has `RUBATO_LIVE=1`,
/// or `RUBATO_LIVE=8080` for a browser. docs/tracing.md
///
/// The trace is on while it lives: in memory, 1.5 MB a thread, unless it is on in a file. It sets nothing of
/// a terminal, so nothing has to be restored. In the child of a fork() it does nothing.
class RUBATO_API live_view {
  std::unique_ptr<detail::live_session> session_;

public:
  /// Throws std::invalid_argument if an option is out of its range, and std::system_error if there is no
  /// memory for the trace, no thread to be had, or another process listens on the port.
  explicit live_view(live_options const& options = {});
  live_view(live_view const&) = delete;
  live_view& operator=(live_view const&) = delete;
  /// Shows the last frame, and ends the thread.
  ~live_view();

  /// The page's address, which contains a secret; empty: it is shown as text.
  [[nodiscard]] std::string url() const;
};

} // namespace rubato
