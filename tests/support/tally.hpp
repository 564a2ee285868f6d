// Counts per index: everything once, nothing twice, nothing forgotten.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <vector>

namespace rubato_test {

class tally {
public:
  explicit tally(std::size_t size)
      : counts_(size) {}

  /// An index outside is remembered instead of written.
  template<class Index>
  void hit(Index index) {
    auto const i = static_cast<std::size_t>(index);
    if (i >= counts_.size()) {
      outside_.fetch_add(1, std::memory_order_relaxed);
    } else {
      // relaxed: the test reads it after the end of the wait, and that wait must publish what ran
      counts_[i].fetch_add(1, std::memory_order_relaxed);
    }
  }

  std::size_t total() const {
    std::size_t sum = 0;
    for (auto const& count : counts_) sum += count.load(std::memory_order_relaxed);
    return sum;
  }

  void expect_each_once() const {
    EXPECT_EQ(outside_.load(), 0U) << "indices out of bounds";
    std::size_t wrong = 0;
    for (std::size_t i = 0; i != counts_.size(); ++i) {
      unsigned const count = counts_[i].load(std::memory_order_relaxed);
      if (count != 1 && ++wrong <= 5) ADD_FAILURE() << "index " << i << " ran " << count << " times";
    }
    EXPECT_EQ(wrong, 0U) << "of " << counts_.size() << " indices";
  }

  void expect_none_twice() const {
    EXPECT_EQ(outside_.load(), 0U) << "indices out of bounds";
    for (std::size_t i = 0; i != counts_.size(); ++i) {
      ASSERT_LE(counts_[i].load(std::memory_order_relaxed), 1U) << "index " << i;
    }
  }

private:
  std::vector<std::atomic<unsigned>> counts_;
  std::atomic<unsigned> outside_{0};
};

} // namespace rubato_test
