// A socket's descriptor, which operations in several tasks may use while another closes it.
// docs/design/reactor.md
#pragma once

#include "io/io_wait.hpp"
#include "os/io/epoll.hpp"
#include "os/io/socket.hpp"
#include "rubato/cancelled.hpp"
#include "sync/close_gate.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>

namespace rubato::detail {

class descriptor {
  int const fd_;
  descriptor_slot& slot_;
  std::uint32_t generation_;
  bool short_reads_empty_ = false;
  basic_close_gate<std_policy> gate_;
  friend class io_operation;

  void leave() noexcept {
    if (gate_.leave()) os::close_fd(fd_);
  }

public:
  /// Owns the descriptor from here on, unless this throws.
  explicit descriptor(int fd)
      : fd_(fd)
      , slot_(slot_of(fd)) {
    end_waits(slot_, fd); // of a descriptor of that number that was closed without forget()
    generation_ = slot_.generation();
  }
  descriptor(descriptor const&) = delete;
  descriptor& operator=(descriptor const&) = delete;
  ~descriptor() { close(); }

  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] bool is_closed() const noexcept { return gate_.is_closed(); }
  /// To be called before a task uses it: a read that returns fewer bytes than asked for has emptied it.
  void set_short_reads_empty() noexcept { short_reads_empty_ = true; }

  /// Ends the waits for it. The last operation that uses it closes the descriptor.
  void close() noexcept {
    if (!gate_.enter()) return; // the number cannot be used anew before this thread has left
    if (gate_.close()) end_waits(slot_, fd_);
    leave();
  }
};

/// The running task was stopped, or its pool ends: it begins no operation.
[[nodiscard]] inline bool is_stopped() noexcept {
  return this_trampoline().running->scope().level() != stop_level::none;
}

/// How an operation ends: its error goes to `code`, or is thrown.
class io_errors {
  std::error_code* code_;
  char const* what_;

public:
  io_errors(char const* what, std::error_code* code) noexcept
      : code_(code)
      , what_(what) {
    if (code != nullptr) code->clear();
  }
  void report(std::errc e) const {
    if (code_ == nullptr) throw std::system_error(std::make_error_code(e), "rubato: " + std::string(what_));
    *code_ = std::make_error_code(e);
  }
  /// The operation ends with an error as with a value.
  [[nodiscard]] bool are_values() const noexcept { return code_ != nullptr; }
  /// The task was stopped, or another operation has won the race.
  void report_stop() const {
    if (code_ == nullptr) throw cancelled();
    *code_ = std::make_error_code(std::errc::operation_canceled);
  }
};

/// While it lives, the descriptor stays open.
class io_operation {
  std::shared_ptr<descriptor> of_;
  bool const entered_;

public:
  explicit io_operation(std::shared_ptr<descriptor> of) noexcept
      : of_(std::move(of))
      , entered_(of_ != nullptr && of_->gate_.enter()) {}
  io_operation(io_operation const&) = delete;
  io_operation& operator=(io_operation const&) = delete;
  ~io_operation() {
    if (entered_) of_->leave();
  }
  /// False: the descriptor is closed, which is reported.
  [[nodiscard]] bool is_open(io_errors const& errors) const {
    if (!entered_) errors.report(std::errc::bad_file_descriptor);
    return entered_;
  }
  /// The descriptor was closed after the operation had begun.
  [[nodiscard]] bool is_closing() const noexcept { return of_->is_closed(); }
  [[nodiscard]] int fd() const noexcept { return of_->fd_; }
  /// To be called before the operation is tried.
  [[nodiscard]] slot_seen before_try(direction d) const noexcept {
    return {.generation = of_->generation_, .events = of_->slot_.events_before(d)};
  }
  /// After a read that had called before_try().
  void note_read(slot_seen before, std::size_t asked, std::size_t got) const noexcept {
    if (of_->short_reads_empty_ && got != 0 && got < asked) of_->slot_.note_empty(before);
  }
  /// A read would find nothing: it may wait without a try.
  [[nodiscard]] bool is_known_empty(slot_seen before) const noexcept {
    return of_->short_reads_empty_ && of_->slot_.is_known_empty(before);
  }
  /// After an operation found nothing.
  [[nodiscard]] io_wait wait(direction d, slot_seen before,
                             std::chrono::steady_clock::time_point until = never) const noexcept {
    return {of_->slot_, of_->fd_, d, before, until};
  }
};

} // namespace rubato::detail
