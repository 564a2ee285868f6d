// How long the oldest task of a queue has been ready, without a time in any task. docs/design/priorities.md
//
// The queue is first in, first out, so a note of how many tasks had been pushed by some time tells the age of
// each of them. A few such notes are kept.
#pragma once

#include "rubato/detail/base/mutex.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace rubato::detail {

class ready_ages {
  static constexpr std::int64_t notes_per_age = 4; // an old task is found at most a quarter late
  struct note {
    std::int64_t at = 0;
    std::uint64_t pushed = 0;
  };

  mutable mutex mutex_;
  std::array<note, notes_per_age + 2> notes_ RUBATO_GUARDED_BY(mutex_); // the oldest first
  std::size_t count_ RUBATO_GUARDED_BY(mutex_) = 0;                     // of them

public:
  /// `pushed` tasks had entered the queue at the time `now`. `age`: the one that older_than() gets, the same
  /// in all calls.
  void take_note(std::int64_t now, std::uint64_t pushed, std::int64_t age) noexcept {
    if (!mutex_.try_lock()) return; // another thread takes one
    lock_guard const guard(mutex_, std::adopt_lock);
    if (count_ != 0 && now - notes_[count_ - 1].at < age / notes_per_age) return;
    if (count_ == notes_.size()) {
      for (std::size_t i = 1; i != count_; ++i) notes_[i - 1] = notes_[i];
      --count_;
    }
    notes_[count_++] = {now, pushed};
  }

  /// That many tasks, from the first one ever pushed on, entered the queue at least `age` before `now`.
  [[nodiscard]] std::uint64_t older_than(std::int64_t age, std::int64_t now) const noexcept {
    if (!mutex_.try_lock()) return 0; // a thread that looks again soon knows more
    lock_guard const guard(mutex_, std::adopt_lock);
    for (std::size_t i = count_; i != 0; --i)
      if (now - notes_[i - 1].at >= age) return notes_[i - 1].pushed;
    return 0;
  }
};

} // namespace rubato::detail
