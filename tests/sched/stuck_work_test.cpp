// What a drain drops because nothing will ever resume it, beside work that comes at that moment.
#include <gtest/gtest.h>

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>
#include <utility>

#include "support/hang_guard.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

namespace {

using namespace std::chrono_literals;
using rubato::task;
using rubato_test::hang_guard;
using rubato_test::with_workers;

/// A coroutine that nothing resumes. When it is destroyed, it calls f.
task<void> stuck(rubato::future<void> never, std::function<void()> f) {
  struct caller {
    std::function<void()> const& call;
    explicit caller(std::function<void()> const& c)
        : call(c) {}
    caller(caller const&) = delete;
    caller& operator=(caller const&) = delete;
    ~caller() { call(); }
  } const at_end(f);
  co_await std::move(never);
}

class stuck_work : public testing::TestWithParam<unsigned> {
protected:
  hang_guard guard;
  rubato::pool pool{with_workers(GetParam())};
  rubato::strand strand{pool};
  std::atomic<int> ran{0};
  rubato::future<void> behind;

  /// Queues two tasks from a thread outside: the second waits for the first, which goes on for a while.
  void queue_two() {
    std::thread([this] {
      strand.enqueue([this] {
        auto const until = std::chrono::steady_clock::now() + 20ms;
        while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
        ++ran;
      });
      behind = strand.spawn([this] { ++ran; });
    }).join();
  }
};
INSTANTIATE_TEST_SUITE_P(workers, stuck_work, testing::Values(0U, 1U, 2U, 33U),
                         testing::PrintToStringParamName());

/// The drain looks whether anything is left to do, drops a coroutine, and goes on to what else is stuck. In
/// between comes work that is not: what it waits for runs.
TEST_P(stuck_work, regression_excludes_what_comes_during_the_drop) {
  rubato::promise<void> never;
  auto const gone = pool.spawn(stuck(never.get_future(), [this] { queue_two(); }));
  pool.shutdown(rubato::drain);
  EXPECT_EQ(ran, 2);
  EXPECT_NO_THROW(behind.get()) << "what a drain has accepted runs";
  EXPECT_TRUE(gone.ready());
}

/// The same at any moment.
TEST_P(stuck_work, regression_excludes_what_comes_at_the_end) {
  for (std::size_t round = 0; round != rubato_test::scaled(40); ++round) {
    rubato::promise<void> never;
    auto const gone = pool.spawn(stuck(never.get_future(), [] {}));
    std::atomic<int> state{0};
    std::atomic<long> accepted{0}, done{0};
    std::thread outside([&] {
      state = 1;
      while (state == 1) {
      }
      try {
        for (;;) {
          strand.enqueue([&] { ++done; });
          ++accepted;
          strand.enqueue([&] { ++done; });
          ++accepted;
        }
      } catch (rubato::cancelled const&) { // the pool is closed, or has taken enough
      }
    });
    while (state == 0) std::this_thread::yield();
    state = 2;
    pool.shutdown(rubato::drain);
    outside.join();
    ASSERT_EQ(accepted, done) << "in round " << round;
    pool.resize(GetParam());
  }
}

} // namespace
