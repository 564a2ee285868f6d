// Proof that things run at the same time: each waits until the others are there. No test measures a duration;
// the only clock is the bound after which a meeting that never comes about counts as a failure.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>

namespace rubato_test {

inline constexpr std::chrono::seconds patience{30};

/// Something that happens at most once, and that any number of threads may wait for.
class milestone {
public:
  void reach() {
    std::lock_guard const lock(mutex_); // during the notification too: a woken thread may destroy this
    reached_ = true;
    changed_.notify_all();
  }

  bool reached() const {
    std::lock_guard const lock(mutex_);
    return reached_;
  }

  /// Sleeps in the kernel, unknown to the pool, until it is reached. False: it never was.
  [[nodiscard]] bool wait() const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return reached_; });
  }

  /// The same for a thread that computes all the while.
  [[nodiscard]] bool compute_until() const {
    auto const end = std::chrono::steady_clock::now() + patience;
    while (!reached()) {
      if (std::chrono::steady_clock::now() > end) return false;
      // a while without the lock, the clock or a pause: the thread is just busy
      for (std::atomic<int> i{0}; i.load(std::memory_order_relaxed) < 1000; ++i) {
      }
    }
    return true;
  }

private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool reached_ = false;
};

/// Counts arrivals; waits for a number of them without being one.
class arrivals {
public:
  void arrive() {
    std::lock_guard const lock(mutex_); // as in milestone::reach()
    ++count_;
    changed_.notify_all();
  }

  std::size_t count() const {
    std::lock_guard const lock(mutex_);
    return count_;
  }

  [[nodiscard]] bool wait_for(std::size_t expected) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return count_ >= expected; });
  }

private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::size_t count_ = 0;
};

/// Lets no thread pass before `parties` threads are inside at the same time; afterwards all.
/// A task that waits in it occupies a thread, so the parties run at once or never meet.
class rendezvous {
public:
  explicit rendezvous(std::size_t parties)
      : parties_(parties) {}

  /// False: they never met. After the first such failure no thread waits any more.
  [[nodiscard]] bool meet() {
    std::unique_lock lock(mutex_);
    ++inside_;
    if (inside_ >= parties_) met_ = true;
    changed_.notify_all();
    if (!changed_.wait_for(lock, patience, [this] { return met_ || failed_; })) {
      failed_ = true;
      changed_.notify_all();
    }
    return met_;
  }

private:
  std::size_t const parties_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t inside_ = 0;
  bool met_ = false;
  bool failed_ = false;
};

} // namespace rubato_test
