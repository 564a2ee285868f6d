// A mutex that knows its owner: where another would deadlock in silence, it says what happened.
#pragma once

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace rubato_test {

class telling_mutex {
public:
  /// Throws if the calling thread holds it: then foreign work runs on the stack of the holder.
  void lock() {
    // relaxed: only this thread can have stored its own id, and no other thread stores it
    if (owner_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
      throw std::logic_error("a thread that waits under a lock ran a stranger that needs the lock");
    }
    mutex_.lock();
    owner_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }

  void unlock() {
    owner_.store(std::thread::id(), std::memory_order_relaxed);
    mutex_.unlock();
  }

private:
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
};

} // namespace rubato_test
