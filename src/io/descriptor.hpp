// A socket's descriptor, which operations in several tasks may use while another closes it.
// docs/design/reactor.md
#pragma once

#include "io/io_wait.hpp"
#include "os/io/epoll.hpp"
#include "os/io/socket.hpp"
#include "rubato/cancelled.hpp"
#include "rubato/socket.hpp"
#include "sync/close_gate.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>

namespace rubato::detail {

class descriptor {
  int const fd_;
  descriptor_slot& slot_;
  std::uint32_t generation_;
  unsigned const process_ = process_number();
  bool short_reads_empty_ = false;
  basic_close_gate<std_policy> gate_;
  friend class io_hold;
  friend class sending_turn;

  ~descriptor() = default;

  void leave() noexcept {
    int const fd = fd_;
    gate_duty const duty = gate_.leave();
    if (duty == gate_duty::close_and_free) delete this;
    if (duty != gate_duty::none) os::close_fd(fd);
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

  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] bool is_closed() const noexcept { return gate_.is_closed(); }
  /// To be called before a task uses it: a read that returns fewer bytes than asked for has emptied it.
  void set_short_reads_empty() noexcept { short_reads_empty_ = true; }

  /// Ends the waits for it. The last operation that uses it closes the descriptor.
  void close() noexcept {
    if (!gate_.enter()) return; // the number cannot be used anew before this thread has left
    if (gate_.close()) {
      end_waits(slot_, fd_);
      // The peer, and the next listener at the address, do not wait until the operations have left. Not in
      // the child of a fork(): the connection is its parent's, too.
      if (gate_.has_others() && process_ == process_number()) os::end_stream(fd_);
    }
    leave();
  }
  /// By its socket, which goes.
  void drop() noexcept {
    close();
    if (gate_.drop()) delete this;
  }
};

/// The running task was stopped, or its pool ends: it begins no operation.
[[nodiscard]] inline bool is_stopped() noexcept { return this_trampoline().running->is_stopped(); }

/// How an operation ends: its error goes to `code`, or is thrown.
class io_errors {
  std::error_code* code_;
  char const* what_;

public:
  io_errors(char const* what, std::error_code* code) noexcept
      : code_(code)
      , what_(what) {}
  /// The operation begins.
  void clear() const noexcept {
    if (code_ != nullptr) code_->clear();
  }
  void report(std::errc e) const {
    if (code_ == nullptr)
      throw std::system_error(
          std::make_error_code(e),
          "rubato: " + std::string(what_) +
              (e == std::errc::device_or_resource_busy ? ": another task does so already" : ""));
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
class io_hold {
  descriptor* of_;
  friend class sending_turn;
  friend class closing_hold;

  void end_waits() const noexcept { detail::end_waits(of_->slot_, of_->fd_); }
  [[nodiscard]] bool end_others() const noexcept {
    bool const is_the_first = of_ != nullptr && of_->gate_.close();
    if (is_the_first) end_waits();
    return is_the_first;
  }
  [[nodiscard]] io_wait wait_for_input(std::chrono::steady_clock::time_point until) const noexcept {
    return {of_->slot_, of_->fd_, direction::reading, of_->slot_.generation(), until};
  }

public:
  /// Of a socket's descriptor; null: the socket is closed.
  explicit io_hold(descriptor* of) noexcept
      : of_(of != nullptr && of->gate_.enter() ? of : nullptr) {}
  io_hold(io_hold&& other) noexcept
      : of_(std::exchange(other.of_, nullptr)) {}
  io_hold& operator=(io_hold&&) = delete;
  ~io_hold() {
    if (of_ != nullptr) of_->leave();
  }
  /// By an operation that begins. False: the descriptor was closed before, which is reported.
  [[nodiscard]] bool is_open(io_errors const& errors) const {
    bool const open = of_ != nullptr && !of_->is_closed();
    if (!open) errors.report(std::errc::bad_file_descriptor);
    return open;
  }
  /// The descriptor was closed after the operation had begun.
  [[nodiscard]] bool is_closing() const noexcept { return of_->is_closed(); }
  [[nodiscard]] int fd() const noexcept { return of_->fd_; }
  /// After the caller has ended these directions.
  void end_waits_of(directions ended) const noexcept { raise_events(of_->slot_, of_->generation_, ended); }
  /// For another operation on the same descriptor.
  [[nodiscard]] io_hold another() const noexcept { return io_hold(of_); }
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

/// The right to send for an operation of several steps: no byte of a second one comes between its own. Ends
/// before the hold of its descriptor, whose number is not used anew until then.
class sending_turn {
  descriptor_slot* taken_ = nullptr;

public:
  sending_turn() noexcept = default;
  sending_turn(sending_turn const&) = delete;
  sending_turn& operator=(sending_turn const&) = delete;
  ~sending_turn() {
    if (taken_ != nullptr) taken_->end_sending();
  }
  /// False: another operation has it.
  [[nodiscard]] bool take(io_hold const& at) noexcept {
    if (!at.of_->slot_.begin_sending()) return false;
    taken_ = &at.of_->slot_;
    return true;
  }
};

/// Of the operation that closes the descriptor. The other operations end, and begin no more. What the kernel
/// tells of the descriptor from then on is for this one alone, as of a descriptor of others.
class closing_hold {
  io_hold held_;
  bool const is_the_first_;

public:
  explicit closing_hold(io_hold of) noexcept
      : held_(std::move(of))
      , is_the_first_(held_.end_others()) {}
  closing_hold(closing_hold const&) = delete;
  closing_hold& operator=(closing_hold const&) = delete;
  ~closing_hold() {
    if (is_the_first_) held_.end_waits(); // before the number is another descriptor's
  }
  /// False: the descriptor was closed before.
  [[nodiscard]] bool is_the_first() const noexcept { return is_the_first_; }
  [[nodiscard]] int fd() const noexcept { return held_.fd(); }
  [[nodiscard]] io_wait wait_for_input(std::chrono::steady_clock::time_point until) const noexcept {
    return held_.wait_for_input(until);
  }
};

} // namespace rubato::detail
