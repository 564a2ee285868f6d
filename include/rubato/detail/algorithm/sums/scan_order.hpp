// Which block of a scan a thread takes next, and for what. docs/design/algorithms.md
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/mutex.hpp"
#include "rubato/detail/base/thread_safety.hpp"
#include "rubato/detail/fork/chunk_size.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

namespace rubato::detail {

/// Knows blocks by their numbers, and nothing of values. A block is taken once, in order, either to be added
/// up and later scanned, or to be scanned at once. No thread waits for another one, and no code of the
/// program runs under the lock.
class scan_order {
public:
  enum class step : unsigned char { none, add_up, scan, scan_at_once };
  struct job {
    step what = step::none;
    std::uint64_t first = 0, last = 0; // blocks
    [[nodiscard]] std::uint64_t size() const noexcept { return last - first; }
  };
  static constexpr std::uint64_t no_block = ~std::uint64_t{0};

  /// `at_once`: a thread that works alone may scan blocks that it has not added up.
  scan_order(std::uint64_t blocks, bool at_once)
      : blocks_(blocks)
      , at_once_(at_once)
      , states_(std::make_unique<state[]>(blocks)) {}

  void enter() noexcept {
    lock_guard const guard(mutex_);
    ++threads_;
  }
  void leave() noexcept {
    lock_guard const guard(mutex_);
    --threads_;
  }

  /// `mine`: the block that the thread has added up last, or no_block. `size`: of a job that scans at once.
  /// Scans that are left when each block is taken are for claim().
  [[nodiscard]] job next(std::uint64_t mine, chunk_size const& size, std::uint32_t workers) noexcept {
    lock_guard const guard(mutex_);
    if (mine < known_ && !states_[mine].is_scanned) return scan_of(mine); // it is in this thread's cache
    if (taken_ == blocks_) return {};
    while (oldest_ != taken_ && states_[oldest_].is_scanned) ++oldest_;
    // In place, a scan changes what another thread may still be adding up.
    if (oldest_ < std::min(known_, taken_) && states_[oldest_].has_sum) return scan_of(oldest_);
    std::uint64_t const first = taken_;
    if (!at_once_ || threads_ != 1 || known_ != first + 1) {
      ++taken_;
      return {step::add_up, first, taken_};
    }
    constexpr std::uint64_t many = std::numeric_limits<std::uint32_t>::max();
    taken_ += size.of(static_cast<std::uint32_t>(std::min(many, blocks_ - first)), workers);
    for (std::uint64_t b = first; b != taken_; ++b) states_[b].is_scanned = true;
    return {step::scan_at_once, first, taken_};
  }
  /// The blocks up to there have been scanned at once, and what comes before the next one is known.
  void scanned_at_once(std::uint64_t last) noexcept {
    lock_guard const guard(mutex_);
    RUBATO_ASSERT_STEP(known_ <= last, "a block was scanned twice", known_, last);
    known_ = std::min(last + 1, blocks_);
  }
  void added_up(std::uint64_t block) noexcept {
    lock_guard const guard(mutex_);
    states_[block].has_sum = true;
  }

  /// A block b whose sum is there, and what comes before it, if what comes before b + 1 is not known: the
  /// caller finds it, and calls carried(). One thread at a time gets a block, and asks again, so the others
  /// need not wait.
  [[nodiscard]] std::uint64_t to_carry() noexcept {
    lock_guard const guard(mutex_);
    if (is_carrying_ || known_ == blocks_ || !states_[known_ - 1].has_sum) return no_block;
    is_carrying_ = true;
    return known_ - 1;
  }
  void carried() noexcept {
    lock_guard const guard(mutex_);
    is_carrying_ = false;
    ++known_;
  }

  /// When no thread takes blocks any more: blocks from here on may be left to scan.
  [[nodiscard]] std::uint64_t oldest_left() noexcept {
    lock_guard const guard(mutex_);
    while (oldest_ != blocks_ && states_[oldest_].is_scanned) ++oldest_;
    RUBATO_ASSERT_STEP(known_ == blocks_, "a scan has lost what comes before a block", known_, blocks_);
    return oldest_;
  }
  /// True for the one thread that has to scan it.
  [[nodiscard]] bool claim(std::uint64_t block) noexcept {
    lock_guard const guard(mutex_);
    return !std::exchange(states_[block].is_scanned, true);
  }

private:
  struct state {
    bool has_sum = false;
    bool is_scanned = false; // or some thread has to do it
  };

  std::uint64_t const blocks_;
  bool const at_once_;
  mutex mutex_;
  std::unique_ptr<state[]> states_ RUBATO_GUARDED_BY(mutex_);
  std::uint64_t taken_ RUBATO_GUARDED_BY(mutex_) = 0;
  std::uint64_t known_ RUBATO_GUARDED_BY(mutex_) = 1;  // of so many it is known what comes before
  std::uint64_t oldest_ RUBATO_GUARDED_BY(mutex_) = 0; // all before are scanned
  unsigned threads_ RUBATO_GUARDED_BY(mutex_) = 0;
  bool is_carrying_ RUBATO_GUARDED_BY(mutex_) = false;

  [[nodiscard]] job scan_of(std::uint64_t block) noexcept RUBATO_REQUIRES(mutex_) {
    states_[block].is_scanned = true;
    return {step::scan, block, block + 1};
  }
};

} // namespace rubato::detail
