#include "rubato/buffered.hpp"

#include "coro/own_race.hpp"
#include "io/descriptor.hpp"
#include "io/text_end.hpp"

#include <algorithm>
#include <stdexcept>

namespace rubato {

using time_point = std::chrono::steady_clock::time_point;

/// An operation that runs. It has the buffer to itself. The bytes that it has read into the caller's memory
/// go into the buffer at its end, unless it keeps them.
class buffered_base::operation {
  buffered_base& in_;
  detail::io_errors const errors_;
  std::error_code* const error_;
  time_point const deadline_;
  bool const is_alone_;
  std::span<std::byte> const into_;
  std::size_t direct_ = 0; ///< bytes in the caller's memory that are not in the buffer

public:
  operation(buffered_base& in, std::error_code* error, time_point deadline,
            std::span<std::byte> into) noexcept
      : in_(in)
      , errors_("buffered", error)
      , error_(error)
      , deadline_(deadline)
      , is_alone_(in.in_use_.try_begin())
      , into_(into) {}
  operation(operation const&) = delete;
  operation& operator=(operation const&) = delete;
  ~operation() {
    if (!is_alone_) return;
    try {
      in_.bytes_.append(into_.first(direct_)); // the buffer is empty: its bytes came before these
    } catch (std::bad_alloc const&) {
      in_.lost_ = true;
    }
    in_.in_use_.end();
  }

  /// False: it must not, which was reported.
  [[nodiscard]] bool begins() const {
    errors_.clear();
    bool const is_stopped = detail::is_stopped();
    if (is_stopped)
      errors_.report_stop();
    else if (!is_alone_)
      errors_.report(std::errc::device_or_resource_busy);
    else if (in_.lost_)
      errors_.report(std::errc::not_enough_memory);
    return !is_stopped && is_alone_ && !in_.lost_;
  }
  [[nodiscard]] task<std::size_t> fetch(std::span<std::byte> into) const {
    return in_.fetch(into, deadline_, error_);
  }
  [[nodiscard]] task<std::size_t> fetch() const { return fetch(in_.bytes_.room()); }
  [[nodiscard]] bool has_failed() const noexcept { return error_ != nullptr && *error_; }
  /// After a fetch that was not enough: a stream that always has more would hold it beyond its deadline.
  [[nodiscard]] bool is_late() const {
    if (deadline_ == never || std::chrono::steady_clock::now() < deadline_) return false;
    errors_.report(std::errc::timed_out);
    return true;
  }
  void report_length(std::size_t limit) const {
    if (error_ == nullptr)
      throw std::length_error("rubato: the text is longer than its limit of " + std::to_string(limit) +
                              " bytes");
    *error_ = std::make_error_code(std::errc::message_size);
  }

  /// All the bytes of the buffer go into the caller's memory, where more follow directly.
  void go_direct() noexcept {
    direct_ = in_.bytes_.copy_to(into_);
    in_.bytes_.drop(direct_);
  }
  [[nodiscard]] std::span<std::byte> rest() const noexcept { return into_.subspan(direct_); }
  void add_direct(std::size_t n) noexcept { direct_ += n; }
  [[nodiscard]] std::size_t direct() const noexcept { return direct_; }

  /// The result is there, and the first n bytes of the buffer, or those in the caller's memory, have gone.
  /// False: another operation has won the race, which was reported.
  [[nodiscard]] bool consume(detail::race_entry among, std::size_t n) {
    bool const won = detail::try_in_race(among, [&] {
      if (std::exchange(direct_, 0) == 0) in_.bytes_.drop(n);
      return true;
    });
    if (!won) errors_.report_stop();
    return won;
  }
};

buffered_base::buffered_base(buffered_base&& other) noexcept
    : bytes_(std::move(other.bytes_))
    , lost_(std::exchange(other.lost_, false)) {}

buffered_base& buffered_base::operator=(buffered_base&& other) noexcept {
  bytes_ = std::move(other.bytes_);
  lost_ = std::exchange(other.lost_, false);
  return *this;
}

/// At least `least` bytes, unless the stream ends before.
task<std::size_t> buffered_base::fill(bytes_to_fill into, std::size_t least, time_point deadline,
                                      std::error_code* error) {
  detail::race_entry const among = co_await detail::own_race();
  co_await detail::ready_wait(); // all of it may be in the buffer
  operation own(*this, error, deadline, into);
  if (!own.begins()) co_return 0;
  std::size_t there = bytes_.size();
  bool const is_direct = there < least && into.size() - there >= detail::byte_queue::least;
  if (is_direct) own.go_direct();
  while (there < least) {
    auto more = is_direct ? own.fetch(own.rest()) : own.fetch();
    std::size_t const n = co_await std::move(more);
    if (own.has_failed()) co_return 0;
    if (n == 0) break;
    there += n;
    if (is_direct)
      own.add_direct(n);
    else
      bytes_.add(n);
    if (there < least && own.is_late()) co_return 0;
  }
  std::size_t const size = is_direct ? own.direct() : bytes_.copy_to(into);
  co_return own.consume(among, size) ? size : 0;
}

task<std::optional<std::string>> buffered_base::until(std::string delimiter, bool is_line, std::size_t limit,
                                                      time_point deadline, std::error_code* error) {
  using found = detail::text_end::found;
  detail::race_entry const among = co_await detail::own_race();
  co_await detail::ready_wait(); // all of it may be in the buffer
  operation own(*this, error, deadline, {});
  if (!own.begins()) co_return std::nullopt;
  detail::text_end end(std::move(delimiter), is_line, limit);
  auto at = end.find(bytes_.text());
  while (at.what == found::nothing) {
    auto more = own.fetch();
    std::size_t const n = co_await std::move(more);
    if (own.has_failed()) co_return std::nullopt;
    bytes_.add(n);
    if (n == 0 && bytes_.size() == 0) co_return std::nullopt;
    at = n != 0 ? end.find(bytes_.text()) : end.at_end(bytes_.text());
    if (at.what == found::nothing && own.is_late()) co_return std::nullopt;
  }
  if (at.what == found::too_long) {
    own.report_length(limit);
    co_return std::nullopt;
  }
  std::string text(bytes_.text().substr(0, at.text)); // before the race is decided: there may be no memory
  if (!own.consume(among, at.whole)) co_return std::nullopt;
  co_return text;
}

task<std::size_t> buffered_base::read_exactly(bytes_to_fill into, detail::deadline deadline) {
  return fill(into, into.size(), deadline.at, nullptr);
}
task<std::size_t> buffered_base::read_exactly(bytes_to_fill into, std::error_code& error) {
  return fill(into, into.size(), never, &error);
}
task<std::size_t> buffered_base::read_exactly(bytes_to_fill into, detail::deadline deadline,
                                              std::error_code& error) {
  return fill(into, into.size(), deadline.at, &error);
}
task<std::size_t> buffered_base::read_some(bytes_to_fill into, detail::deadline deadline) {
  return fill(into, std::min<std::size_t>(into.size(), 1), deadline.at, nullptr);
}
task<std::size_t> buffered_base::read_some(bytes_to_fill into, std::error_code& error) {
  return fill(into, std::min<std::size_t>(into.size(), 1), never, &error);
}
task<std::size_t> buffered_base::read_some(bytes_to_fill into, detail::deadline deadline,
                                           std::error_code& error) {
  return fill(into, std::min<std::size_t>(into.size(), 1), deadline.at, &error);
}

namespace {
std::string checked(std::string_view delimiter) {
  if (delimiter.empty()) throw std::invalid_argument("rubato: read_until() needs a delimiter");
  return std::string(delimiter);
}
} // namespace

task<std::optional<std::string>> buffered_base::read_until(std::string_view delimiter, std::size_t limit,
                                                           detail::deadline deadline) {
  return until(checked(delimiter), false, limit, deadline.at, nullptr);
}
task<std::optional<std::string>> buffered_base::read_until(std::string_view delimiter, std::size_t limit,
                                                           std::error_code& error) {
  return until(checked(delimiter), false, limit, never, &error);
}
task<std::optional<std::string>> buffered_base::read_until(std::string_view delimiter, std::size_t limit,
                                                           detail::deadline deadline,
                                                           std::error_code& error) {
  return until(checked(delimiter), false, limit, deadline.at, &error);
}
task<std::optional<std::string>> buffered_base::read_line(std::size_t limit, detail::deadline deadline) {
  return until("\n", true, limit, deadline.at, nullptr);
}
task<std::optional<std::string>> buffered_base::read_line(std::size_t limit, std::error_code& error) {
  return until("\n", true, limit, never, &error);
}
task<std::optional<std::string>> buffered_base::read_line(std::size_t limit, detail::deadline deadline,
                                                          std::error_code& error) {
  return until("\n", true, limit, deadline.at, &error);
}

} // namespace rubato
