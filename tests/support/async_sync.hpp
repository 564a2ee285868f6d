// Fixtures and helpers of the tests of locks, channels and generators.
#pragma once

#include <gtest/gtest.h>

#include "support/hang_guard.hpp"
#include "support/jitter.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

#include <rubato/channel.hpp>
#include <rubato/generator.hpp>
#include <rubato/rubato.hpp>
#include <rubato/sync.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <utility>
#include <vector>

namespace async_sync_test {

using pool_test::eventually;
using rubato_test::hang_guard;
using rubato_test::jitter;
using rubato_test::on_workers;
using rubato_test::scaled;

/// Everything that was spawned waits, or has ended.
inline void let_all_wait(rubato::pool& pool) { EXPECT_TRUE(pool.wait_idle()); }

template<class T>
void get_all(std::vector<rubato::future<T>>& futures) {
  for (auto& f : futures) f.get();
  futures.clear();
}

/// How a coroutine ended.
enum class ending { normal, cancelled, broken, other };

template<class T>
ending ending_of(rubato::future<T>& f) {
  try {
    static_cast<void>(f.get());
    return ending::normal;
  } catch (rubato::cancelled const&) {
    return ending::cancelled;
  } catch (std::future_error const&) {
    return ending::broken;
  } catch (...) {
    return ending::other;
  }
}

/// Counts the coroutines inside, and their maximum.
class occupancy {
  std::atomic<int> inside_{0};
  std::atomic<int> most_{0};

public:
  void enter() {
    int const now = inside_.fetch_add(1) + 1;
    int seen = most_.load();
    while (seen < now && !most_.compare_exchange_weak(seen, now)) {
    }
  }
  void leave() { inside_.fetch_sub(1); }
  int inside() const { return inside_; }
  int most() const { return most_; }
};

/// In a coroutine's frame: counts the frames that exist.
class in_frame {
  std::atomic<int>* count_;

public:
  explicit in_frame(std::atomic<int>& count)
      : count_(&count) {
    count.fetch_add(1);
  }
  in_frame(in_frame const&) = delete;
  in_frame& operator=(in_frame const&) = delete;
  ~in_frame() { count_->fetch_sub(1); }
};

} // namespace async_sync_test
