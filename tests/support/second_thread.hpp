// One more thread that does something at nearly the same moment as the test, again and again.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace rubato_test {

/// So long that two threads meet at every point of what they do, in one of many rounds.
inline void delay(unsigned steps) {
  for (unsigned volatile i = 0; i < steps;) i = i + 1;
}

class second_thread {
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_; // empty: none, or done
  bool over_ = false;
  std::thread thread_; // last: it uses all of the above

  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return job_ || over_; });
      if (!job_) return;
      lock.unlock();
      job_();
      lock.lock();
      job_ = nullptr;
      changed_.notify_all();
    }
  }

public:
  second_thread()
      : thread_([this] { loop(); }) {}
  second_thread(second_thread const&) = delete;
  second_thread& operator=(second_thread const&) = delete;
  ~second_thread() {
    {
      std::lock_guard const lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void begin(std::function<void()> job) {
    std::lock_guard const lock(mutex_);
    job_ = std::move(job);
    changed_.notify_all();
  }
  /// Begins the job at nearly the same moment as what the caller does next: sooner or later, by the round.
  void begin_beside(std::size_t round, std::function<void()> job) {
    begin([round, mine = std::move(job)] {
      delay(static_cast<unsigned>(round * 7 % 150));
      mine();
    });
    delay(static_cast<unsigned>(round * 13 % 199));
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !job_; });
  }
};

} // namespace rubato_test
