// What one thread does, followed event by event. docs/design/live.md
#pragma once

#include "rubato/detail/trace/event.hpp"
#include "trace/reader/timeline/timeline.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rubato::detail {

/// A name, which is looked up only if it is shown.
struct unread_name {
  enum class table : unsigned char { none, code, wait, literal, text };
  table in = table::none;
  std::uint64_t word = 0;
  friend bool operator==(unread_name const&, unread_name const&) = default;
};

/// What a thread has done in a tenth of a second, in ns and numbers.
struct activity_sample {
  std::int64_t begin = 0, covered = 0, busy = 0;
  std::uint64_t tasks = 0, steals = 0, wakes = 0;
};

/// The CPU time of one thread, as the kernel has counted it at some moments.
class cpu_share {
  struct mark {
    std::int64_t at = 0, used = 0;
  };
  static constexpr std::size_t marks = 11;

  std::array<mark, marks> marks_{}; // a circle, a tenth of a second apart
  std::size_t next_ = 0;
  mark last_;

public:
  /// `used`: up to now; 0: the kernel does not tell.
  void measure(std::int64_t at, std::int64_t used) noexcept;
  /// Of about the last second; below zero: unknown.
  [[nodiscard]] double share() const noexcept;
};

/// Times are in ns since the start of the trace.
class thread_activity {
public:
  struct running {
    std::int64_t since = 0;
    std::uint64_t id = 0, coroutine = 0;
    unread_name name;
    slice_kind kind = slice_kind::task;
    std::uint64_t for_thread = 0; ///< of a wait: 1 + the number of the thread that runs what it waits for
  };
  static constexpr std::size_t samples = 32;
  static constexpr std::int64_t sample_ns = 100'000'000;

private:
  static constexpr std::size_t deepest = 1'000;

  std::vector<running> stack_;
  std::int64_t last_ = 0, asleep_since_ = -1, idle_since_ = 0;
  std::array<activity_sample, samples> samples_{}; // a circle
  std::size_t now_ = 0;                            // the last one

  activity_sample& sample_at(std::int64_t at) noexcept;
  void open(running const& r);
  void close(std::int64_t at) noexcept;
  void close_one(std::int64_t at, slice_kind kind, std::uint64_t id) noexcept;
  void begin(std::int64_t at, trace_event const& e);
  [[nodiscard]] running* of_coroutine(std::uint64_t id) noexcept;

public:
  std::uint64_t thread = 0, name = 0; ///< the kernel's number; where its name is among the texts
  std::uint64_t pool = 0, number = 0; // of the pool in which it is, or was last
  bool is_inside = false, is_worker = false;
  std::uint64_t parker = 0;
  cpu_share cpu;

  explicit thread_activity(std::int64_t at) noexcept
      : last_(at)
      , idle_since_(at) {}

  /// The time up to `at` goes to what it does.
  void advance(std::int64_t at) noexcept;
  void take(std::int64_t at, trace_event const& e);
  /// Events before `at` were lost.
  void resume_at(std::int64_t at) noexcept;

  [[nodiscard]] std::vector<running> const& stack() const noexcept { return stack_; }
  [[nodiscard]] bool is_asleep() const noexcept { return asleep_since_ >= 0; }
  /// Since when it sleeps, or has had nothing to run.
  [[nodiscard]] std::int64_t idle_since() const noexcept {
    return asleep_since_ >= 0 ? asleep_since_ : idle_since_;
  }
  /// The innermost activity that has a name; null: there is none.
  [[nodiscard]] running const* innermost() const noexcept;
  /// The sum over those that began in the last second before `now`.
  [[nodiscard]] activity_sample last_second(std::int64_t now) const noexcept;
  /// The shares of the samples before the present one, the oldest first.
  [[nodiscard]] std::vector<double> history(std::int64_t now) const;
};

} // namespace rubato::detail
