// The textbook pool, as most programs that write their own have it: one queue of std::function, one mutex,
// one condition variable. It takes outside work and has no forks.
#include "../harness/driver.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace {

class mutex_queue {
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::jthread> threads_;

  void work(std::stop_token stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !tasks_.empty(); })) {
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

public:
  static constexpr const char* name = "mutex-queue";
  static constexpr bool has_threads = true;
  static std::string version() { return __VERSION__; }

  explicit mutex_queue(unsigned workers) {
    for (unsigned i = 0; i != workers; ++i)
      threads_.emplace_back([this](std::stop_token stop) { work(std::move(stop)); });
  }

  template<class F>
  void enqueue(F f) {
    {
      const std::scoped_lock lock(mutex_);
      tasks_.emplace_back(f);
    }
    changed_.notify_one();
  }
};

} // namespace

int main(int argc, char** argv) { return bench::drive<mutex_queue>(argc, argv); }
