#include "trace/reader/live/live_session.hpp"

#include "os/io/epoll.hpp"
#include "os/io/file.hpp"
#include "os/io/mapped_file.hpp"
#include "os/io/poll.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "trace/reader/live/web/live_json.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace rubato::detail {

namespace {

constexpr unsigned lowest_port = 1'024, highest_port = 65'535, most_frames_per_second = 60;

live_options const& checked(live_options const& o) {
  if (o.port != 0 && (o.port < lowest_port || o.port > highest_port))
    throw std::invalid_argument(
        "rubato: the port of a live view is from 1024 to 65535, or 0 for the terminal");
  if (o.frames_per_second > most_frames_per_second)
    throw std::invalid_argument("rubato: a live view has at most 60 frames per second");
  return o;
}

/// Sleeps until then. True: the descriptor has become readable.
bool is_readable_before(int fd, std::chrono::steady_clock::time_point until) noexcept {
  for (;;) {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    std::array<os::polled, 1> of{os::polled{.fd = fd, .events = POLLIN, .revents = 0}};
    os::wait_for_any(of, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000)));
    if (of[0].revents != 0) return true;
    if (left.count() <= 0) return false;
  }
}

} // namespace

live_session::live_session(live_options const& options, std::string rings)
    : options_(checked(options))
    , process_(os::process_id())
    , feed_(std::move(rings)) {
  if (options_.port != 0)
    server_.emplace(options_.port, [this] { return state(); });
  else
    screen_.emplace(options_.output, options_.width);
  stop_fd_ = os::make_event_fd();
  try {
    thread_ = std::make_unique<os::thread>(os::thread_options{.name = "rubato-live", .blocks_signals = true},
                                           &main_of_thread, this);
  } catch (...) {
    os::close_fd(stop_fd_);
    throw;
  }
}

live_session::~live_session() {
  if (thread_->joinable()) {
    stop();
    thread_->join();
  }
  os::close_fd(stop_fd_);
}

bool live_session::is_of_this_process() const noexcept { return os::process_id() == process_; }

std::string live_session::wait() {
  thread_->join();
  return failure_;
}

void live_session::stop() noexcept { os::raise_event_fd(stop_fd_); }

std::string live_session::url() const { return server_ ? server_->url() : std::string(); }

void live_session::main_of_thread(void* self) noexcept {
  auto& s = *static_cast<live_session*>(self);
  try {
    s.run();
  } catch (std::exception const& e) {
    try {
      s.failure_ = e.what();
    } catch (std::bad_alloc const&) { // NOLINT(bugprone-empty-catch): there is no memory to say so
    }
  }
}

void live_session::run() {
  if (server_)
    server_->serve(stop_fd_);
  else
    show_text();
}

/// One look serves all browsers that ask within the time of a frame.
std::string live_session::state() {
  unsigned const rate = options_.frames_per_second != 0 ? options_.frames_per_second : 10;
  auto const now = std::chrono::steady_clock::now();
  if (state_.empty() || now - looked_ >= std::chrono::nanoseconds(std::chrono::seconds(1)) / rate) {
    state_ = json_of(feed_.look());
    looked_ = now;
  }
  return state_;
}

void live_session::show_text() {
  using clock = std::chrono::steady_clock;
  unsigned const rate = options_.frames_per_second != 0 ? options_.frames_per_second
                        : screen_->redraws()            ? 10
                                                        : 1;
  auto const interval = std::chrono::nanoseconds(std::chrono::seconds(1)) / rate;
  clock::time_point due = clock::now() + std::min<clock::duration>(interval, std::chrono::milliseconds(100));
  for (std::size_t drawn = 0;;) {
    bool const ends = is_readable_before(stop_fd_, due);
    live_picture const p = feed_.look();
    // At the end of a program the pools may have gone: then the frame before says more.
    bool const says_less = ends && drawn != 0 && p.threads.empty();
    if (!says_less && !screen_->draw(p, stop_fd_)) return;
    ++drawn;
    if (ends || p.has_ended || drawn == options_.frames) break;
    due = std::max(due + interval, clock::now());
  }
  screen_->leave();
}

namespace {

constinit live_session* asked_for = nullptr; // until the end of the program

void end_at_exit() {
  if (asked_for->is_of_this_process()) delete std::exchange(asked_for, nullptr);
}

void show(std::string_view how) {
  auto const port = os::parse_number<unsigned>(how);
  if (how != "1" && (!port || *port < lowest_port || *port > highest_port)) {
    os::tell("RUBATO_LIVE=" + std::string(how) +
             " means nothing: 1 is the terminal, a number from 1024 to 65535 is the port of a page for a "
             "browser");
    return;
  }
  live_options options;
  if (how != "1") options.port = *port;
  asked_for = new live_session(options, {});
  if (options.port != 0) os::tell("watch live at " + asked_for->url());
  std::atexit(&end_at_exit);
}

} // namespace

void show_if_asked() noexcept {
  static constinit flag asked;
  if (!asked.try_raise()) return; // not in the child of a fork() either
  char const* const how = os::environment("RUBATO_LIVE");
  if (how == nullptr || *how == '\0' || std::string_view(how) == "0") return;
  try {
    show(how);
  } catch (std::exception const& e) {
    os::tell(std::string("no live view: ") + e.what());
  }
}

} // namespace rubato::detail
