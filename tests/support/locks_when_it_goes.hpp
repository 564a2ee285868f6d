// A capture whose destructor wants a lock: destroyed under that lock, it hangs.
#pragma once

#include <mutex>
#include <utility>

namespace rubato_test {

class locks_when_it_goes {
  std::mutex* mutex_;

public:
  explicit locks_when_it_goes(std::mutex& m)
      : mutex_(&m) {}
  locks_when_it_goes(locks_when_it_goes&& other) noexcept
      : mutex_(std::exchange(other.mutex_, nullptr)) {}
  locks_when_it_goes& operator=(locks_when_it_goes&&) = delete;
  ~locks_when_it_goes() {
    if (mutex_ != nullptr) std::lock_guard const held(*mutex_);
  }
};

} // namespace rubato_test
