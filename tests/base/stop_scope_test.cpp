// Stop requests that meet the end of a scope, or its first listener.
#include "rubato/detail/base/stop_scope.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "support/hang_guard.hpp"
#include "support/scale.hpp"
#include "support/second_thread.hpp"

namespace {

using rubato::detail::stop_level;
using rubato::detail::stop_link;
using rubato::detail::stop_listener;
using rubato::detail::stop_scope;
using rubato_test::scaled;

class listener final : public stop_listener {
  std::function<void()> f_;

public:
  std::atomic<int> told{0};

  explicit listener(
      bool is_timed, std::function<void()> f = [] {})
      : f_(std::move(f)) {
    timed = is_timed;
  }
  void stop_requested() noexcept override {
    ++told;
    f_();
  }
};

/// Does something at the same moment as the test, in each round: it spins, because a thread that is woken is
/// late.
class spinning_thread {
  std::function<void()> job_;
  std::atomic<std::size_t> begun_{0}, done_{0};
  std::atomic<bool> over_{false};
  std::jthread thread_{[this] {
    for (std::size_t round = 1;; ++round) {
      for (unsigned spins = 0; begun_ != round; ++spins) {
        if (over_) return;
        if (spins > 1'000) std::this_thread::yield();
      }
      rubato_test::delay(static_cast<unsigned>(round * 7 % 90));
      job_();
      done_ = round;
    }
  }};

public:
  spinning_thread() = default;
  ~spinning_thread() { over_ = true; }
  void begin(std::function<void()> job) {
    job_ = std::move(job);
    ++begun_;
  }
  void wait() const {
    while (done_ != begun_) std::this_thread::yield();
  }
};

/// A scope within another one.
struct inner_scope {
  stop_link up;
  stop_scope own{&up};
  explicit inner_scope(stop_scope& parent)
      : up(&parent) {}
};

TEST(stop_scopes, regression_end_in_their_request_beside_another) {
  rubato_test::hang_guard const guard;
  spinning_thread other;
  for (std::size_t round = 0; round != scaled(20'000) && !testing::Test::HasFailure(); ++round) {
    stop_scope root;
    auto scope = std::make_unique<inner_scope>(root), beside = std::make_unique<inner_scope>(root);
    std::atomic<bool> ended{false};
    listener ends(true, [&] { // as a future does when its work ends
      scope->own.remove(ends);
      scope->own.leave_parent();
      ended = true;
    });
    listener stays(true);
    ASSERT_TRUE(scope->own.add(ends));
    ASSERT_TRUE(beside->own.add(stays));
    other.begin([&] { root.request_stop(); });
    scope->own.request_stop();
    while (!ended) std::this_thread::yield();
    scope.reset();
    other.wait();
    EXPECT_EQ(ends.told, 1);
    EXPECT_EQ(stays.told, 1);
    beside->own.remove(stays);
  }
}

TEST(stop_scopes, regression_end_in_their_request_within_another) {
  stop_scope root;
  auto scope = std::make_unique<inner_scope>(root);
  listener beside(true);
  std::optional<listener> drained, stopped;
  stopped.emplace(false, [&] {
    scope->own.remove(*stopped);
    scope->own.remove(*drained);
    scope.reset();
  });
  drained.emplace(true, [&] { scope->own.request_stop(); });
  ASSERT_TRUE(root.add(beside));
  ASSERT_TRUE(scope->own.add(*stopped));
  ASSERT_TRUE(scope->own.add(*drained));
  root.request_drain();
  EXPECT_EQ(scope, nullptr);
  EXPECT_EQ(beside.told, 1);
}

/// The outermost scope drains. Listeners come to both scopes within it at once: each is refused, or told.
TEST(stop_scopes, regression_hear_of_drains_before_first_listeners) {
  rubato_test::hang_guard const guard;
  spinning_thread other;
  // Where other programs want the CPUs, a round may take a time slice: then fewer must do.
  auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (std::size_t round = 0;
       round != scaled(300'000) && std::chrono::steady_clock::now() < end && !testing::Test::HasFailure();
       ++round) {
    stop_scope root;
    inner_scope outer(root), inner(outer.own);
    listener of_outer(true), of_inner(true);
    root.request_drain();
    bool outer_listens = false;
    other.begin([&] { outer_listens = outer.own.add(of_outer); });
    bool const inner_listens = inner.own.add(of_inner);
    other.wait();
    EXPECT_EQ(inner.own.level(), stop_level::draining);
    EXPECT_EQ(outer.own.level(), stop_level::draining);
    EXPECT_EQ(of_inner.told, inner_listens ? 1 : 0);
    EXPECT_EQ(of_outer.told, outer_listens ? 1 : 0);
    inner.own.remove(of_inner);
    outer.own.remove(of_outer);
  }
}

} // namespace
