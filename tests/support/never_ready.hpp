// Objects for which a wait does not end by itself.
#pragma once

#include <rubato/channel.hpp>
#include <rubato/future.hpp>
#include <rubato/sync.hpp>

#include <gtest/gtest.h>

namespace rubato_test {

/// A promise that is not set, an empty channel without capacity, and locks that are not released.
struct never_ready {
  rubato::promise<int> promise;
  rubato::shared_future<int> future = promise.get_future().share();
  rubato::channel<int> channel{0};
  rubato::async_mutex mutex;
  rubato::async_semaphore semaphore{0};
  rubato::async_latch latch{1};

  never_ready() { EXPECT_TRUE(mutex.try_acquire()); }
  never_ready(never_ready const&) = delete;
  never_ready& operator=(never_ready const&) = delete;
  ~never_ready() { mutex.release(); }
};

} // namespace rubato_test
