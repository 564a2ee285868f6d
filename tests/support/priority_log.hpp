// The order in which tasks begin, and a worker that is held while queues are filled.
#pragma once

#include "support/waiting.hpp"
#include "support/with_workers.hpp"

#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <string>
#include <vector>

namespace rubato_test {

/// Any thread writes.
class task_log {
  mutable std::mutex mutex_;
  std::vector<std::string> names_;

public:
  void add(std::string name) {
    std::lock_guard const lock(mutex_);
    names_.push_back(std::move(name));
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::lock_guard const lock(mutex_);
    return names_;
  }
  [[nodiscard]] std::size_t size() const {
    std::lock_guard const lock(mutex_);
    return names_.size();
  }
  /// How many entries of that name stand before the last one of the other name.
  [[nodiscard]] std::size_t before_last(std::string const& name, std::string const& other) const {
    std::vector<std::string> const all = names();
    auto const last = std::find(all.rbegin(), all.rend(), other).base();
    return static_cast<std::size_t>(std::count(all.begin(), last, name));
  }
};

/// All workers are in a task of this until it is opened or destroyed.
class held_workers {
  gate open_;
  std::atomic<unsigned> inside_{0};

public:
  explicit held_workers(rubato::pool& pool) {
    unsigned const n = pool.size();
    for (unsigned i = 0; i != n; ++i)
      pool.enqueue([this] {
        inside_.fetch_add(1);
        static_cast<void>(open_.wait());
        inside_.fetch_sub(1);
      });
    EXPECT_TRUE(eventually([&] { return inside_ == n; }));
  }
  void open() { open_.open(); }
  ~held_workers() {
    open();
    EXPECT_TRUE(eventually([&] { return inside_ == 0; }));
  }
};

/// Neither spares nor substitutes: while the workers are held, nothing of the pool runs.
[[nodiscard]] inline rubato::pool_options alone(unsigned workers) { return with_workers(workers).spares(0); }

} // namespace rubato_test
