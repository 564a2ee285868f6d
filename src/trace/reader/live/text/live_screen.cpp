#include "trace/reader/live/text/live_screen.hpp"

#include "os/io/epoll.hpp"
#include "os/io/poll.hpp"
#include "os/io/terminal.hpp"
#include "trace/reader/live/text/text_frame.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace rubato::detail {

namespace {

constexpr int standard_error = 2;
constexpr int patience = 200; // ms, of the last frame
constexpr unsigned usual_width = 100, widest = 200;

} // namespace

live_screen::live_screen(int output, unsigned width)
    : fd_(output >= 0 ? output : os::open_terminal())
    , is_own_(output < 0 && fd_ >= 0)
    , width_(width) {
  if (fd_ < 0) fd_ = standard_error;
  bool const is_terminal = os::is_terminal(fd_);
  style_ = style_of_environment(is_terminal);
  redraws_ = is_terminal && style_.moves;
}

live_screen::~live_screen() {
  if (is_own_) os::close_fd(fd_);
}

/// A terminal that is stopped by Ctrl-S, or a pipe that is full, must not hold up the end of the view.
bool live_screen::write(std::string_view text, int stop_fd) const noexcept {
  bool stops = stop_fd < 0;
  while (!text.empty()) {
    std::array<os::polled, 2> of{os::polled{.fd = fd_, .events = POLLOUT, .revents = 0},
                                 os::polled{.fd = stops ? -1 : stop_fd, .events = POLLIN, .revents = 0}};
    os::wait_for_any(of, stops ? patience : -1);
    if (of[1].revents != 0) stops = true;
    if (of[0].revents == 0) {
      if (stops && of[1].revents == 0) return true; // what is left is not written
      continue;
    }
    os::io_result const r = os::write_part(fd_, text);
    if (r.error != 0 && !r.would_wait()) return false;
    if (r.error == 0) text.remove_prefix(static_cast<std::size_t>(r.value));
  }
  return true;
}

bool live_screen::draw(live_picture const& p, int stop_fd) {
  os::terminal_size const size = redraws_ ? os::size_of_terminal(fd_) : os::terminal_size{};
  // The last column stays empty: a character there would make some terminals go to the next line.
  style_.columns = width_ != 0 ? width_ : size.columns > 1 ? std::min(size.columns - 1, widest) : usual_width;
  style_.rows = size.rows > 3 ? size.rows - 2 : 0;
  std::string text;
  std::vector<std::string> const lines = frame_of(p, style_);
  if (!redraws_) {
    for (std::string const& l : lines) text += l + '\n';
    return write(text + '\n', stop_fd);
  }
  text = "\r\x1b[K"; // an empty line, into which the program may write
  for (std::string const& l : lines) text += "\r\n" + l + "\x1b[K";
  height_ = lines.size();
  text += "\x1b[J\x1b[" + std::to_string(height_) + "A\r";
  return write(text, stop_fd);
}

void live_screen::leave() noexcept {
  if (height_ == 0) return;
  std::string const text = "\x1b[" + std::to_string(height_) + "B\r\n";
  static_cast<void>(write(text, -1));
  height_ = 0;
}

} // namespace rubato::detail
