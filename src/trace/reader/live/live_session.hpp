// A live view: its thread, from the start to the end. docs/design/live.md
#pragma once

#include "os/thread.hpp"
#include "rubato/live.hpp"
#include "trace/reader/live/live_feed.hpp"
#include "trace/reader/live/text/live_screen.hpp"
#include "trace/reader/live/web/web_server.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace rubato::detail {

class live_session {
  live_options const options_;
  int const process_;
  live_feed feed_;
  std::optional<live_screen> screen_; // or
  std::optional<web_server> server_;
  std::string state_; // of the page, and from when it is
  std::chrono::steady_clock::time_point looked_;
  std::string failure_;
  int stop_fd_ = -1; // readable: the thread is to end
  std::unique_ptr<os::thread> thread_;

  static void main_of_thread(void* self) noexcept;
  void run();
  void show_text();
  [[nodiscard]] std::string state();

public:
  /// `rings`: of another process; empty: of this one. Throws as live_view's constructor, and as live_feed's.
  live_session(live_options const& options, std::string rings);
  live_session(live_session const&) = delete;
  live_session& operator=(live_session const&) = delete;
  /// Not in the child of a fork(): there the thread does not exist, and may have been at work on what would
  /// be destroyed.
  ~live_session();
  [[nodiscard]] bool is_of_this_process() const noexcept;

  [[nodiscard]] std::string url() const;
  /// It ends soon. Safe in a signal handler.
  void stop() noexcept;
  /// Waits until it has ended by itself, because of its options or because the watched process has ended.
  /// Returns what went wrong; empty: nothing.
  [[nodiscard]] std::string wait();
};

/// When the first pool starts: begins a live view if the environment asks for it. Says on the standard error
/// output if that fails.
void show_if_asked() noexcept;

} // namespace rubato::detail
