// Frames on a terminal, or one below the other in a file or a pipe. docs/design/live.md
#pragma once

#include "trace/reader/live/live_picture.hpp"
#include "trace/reader/live/text/text_style.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace rubato::detail {

/// On a terminal the cursor rests at the start of the frame: what the program writes stays above the next
/// one. Nothing is set that would have to be restored.
class live_screen {
  int fd_;
  bool const is_own_; // it is closed at the end
  bool redraws_ = false;
  unsigned const width_;
  text_style style_;
  std::size_t height_ = 0; // of the last frame, on a terminal

  [[nodiscard]] bool write(std::string_view text, int stop_fd) const noexcept;

public:
  /// `output`, `width`: as in live_options.
  live_screen(int output, unsigned width);
  live_screen(live_screen const&) = delete;
  live_screen& operator=(live_screen const&) = delete;
  ~live_screen();

  [[nodiscard]] bool redraws() const noexcept { return redraws_; }
  /// Returns false if nothing reads it any more. If `stop_fd` becomes readable it waits no longer.
  [[nodiscard]] bool draw(live_picture const& p, int stop_fd);
  /// The cursor goes below the last frame.
  void leave() noexcept;
};

} // namespace rubato::detail
