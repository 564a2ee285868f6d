// What users hand over is copied, moved, called and destroyed under no lock of ours: each of these uses, from
// there, the very object that it was handed to.
#include <gtest/gtest.h>

#include "support/pools.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

using namespace rubato_test;

namespace {

class user_code : public on_workers {};
RUBATO_TEST_WITH_WORKERS(user_code, all_counts);

/// Calls back whenever it is moved, and when it is destroyed.
class calls_back {
  std::function<void()> const* back_;

public:
  explicit calls_back(std::function<void()> const& back)
      : back_(&back) {}
  calls_back(calls_back&& other) noexcept
      : back_(other.back_) {
    (*back_)();
  }
  calls_back(calls_back const&) = delete;
  calls_back& operator=(calls_back const&) = delete;
  calls_back& operator=(calls_back&&) = delete;
  ~calls_back() { (*back_)(); }
  void operator()() const {}
};

TEST_P(user_code, regression_of_a_strand_may_use_the_strand) {
  std::atomic<int> ran{0};
  {
    rubato::strand strand(pool);
    std::function<void()> const back = [&] { strand.enqueue([&ran] { ++ran; }); };
    strand.enqueue(calls_back(back));
    strand.spawn(calls_back(back)).get();
    ASSERT_TRUE(pool.wait_idle());
  }
  EXPECT_GT(ran, 4);
}

TEST_P(user_code, of_a_scope_may_use_the_scope) {
  std::atomic<int> ran{0};
  rubato::with_scope(pool, [&](rubato::scope& s) {
    std::function<void()> const back = [&] { s.spawn([&ran] { ++ran; }); };
    s.spawn(calls_back(back));
    s.wait();
    s.spawn(calls_back(back));
    s.request_stop(); // destroys what has not begun
    s.spawn(calls_back(back));
    s.wait();
  });
  EXPECT_GT(ran, 0);
}

TEST_P(user_code, of_a_pool_may_use_the_pool) {
  std::atomic<int> ran{0};
  {
    std::function<void()> const back = [&] { pool.enqueue([&ran] { ++ran; }); };
    pool.enqueue(calls_back(back));
    pool.spawn(calls_back(back)).get();
    pool.spawn([] { return 1; }).then([c = calls_back(back)](int i) { return i; }).get();
    pool.enqueue_after(std::chrono::hours(1), calls_back(back)).cancel();
    ASSERT_TRUE(pool.wait_idle());
  }
  EXPECT_GT(ran, 4);
}

} // namespace
