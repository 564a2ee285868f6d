// What users hand over is copied, moved, called and destroyed under no lock of ours: each of these uses, from
// there, the very object that it was handed to.
#include <gtest/gtest.h>

#include "support/pools.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
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

/// Calls back at its end, unless it was moved from.
class tells_its_end {
  std::function<void()> const* back_;

public:
  explicit tells_its_end(std::function<void()> const& back)
      : back_(&back) {}
  tells_its_end(tells_its_end&& other) noexcept
      : back_(std::exchange(other.back_, nullptr)) {}
  tells_its_end(tells_its_end const&) = delete;
  tells_its_end& operator=(tells_its_end const&) = delete;
  tells_its_end& operator=(tells_its_end&&) = delete;
  ~tells_its_end() {
    if (back_ != nullptr) (*back_)();
  }
};

TEST_P(user_code, of_a_value_at_its_end_may_use_the_channel) {
  for (std::size_t const capacity : {std::size_t{0}, std::size_t{2}}) {
    std::atomic<int> called{0};
    rubato::channel<tells_its_end> c(capacity);
    std::function<void()> const back = [&] {
      static_cast<void>(c.is_closed());
      ++called;
    };
    auto send = [&]() -> rubato::task<> {
      for (int i = 0; i != 4; ++i) {
        tells_its_end value(back);
        static_cast<void>(co_await c.send(std::move(value)));
      }
    };
    auto receive = [&]() -> rubato::task<> {
      for (int i = 0; i != 4; ++i) static_cast<void>(co_await c.receive());
    };
    auto both = rubato::when_all(pool.spawn(send()), pool.spawn(receive()));
    both.get();
    EXPECT_EQ(called, 4);
    for (std::size_t i = 0; i != capacity; ++i) EXPECT_TRUE(c.try_send(tells_its_end(back)));
    EXPECT_FALSE(c.try_send(tells_its_end(back)));
    c.close();
    pool.block_on(send());
    while (c.try_receive()) continue;
    EXPECT_EQ(called, 9 + static_cast<int>(capacity));
  }
}

/// Calls back whenever it is copied, moved or assigned, and when it is destroyed.
class always_calls_back {
  std::function<void()> const* back_;

public:
  explicit always_calls_back(std::function<void()> const& back)
      : back_(&back) {}
  always_calls_back(always_calls_back const& other)
      : back_(other.back_) {
    (*back_)();
  }
  always_calls_back(always_calls_back&& other) noexcept
      : back_(other.back_) {
    (*back_)();
  }
  always_calls_back& operator=(always_calls_back const&) = delete;
  always_calls_back& operator=(always_calls_back&&) noexcept {
    (*back_)();
    return *this;
  }
  ~always_calls_back() { (*back_)(); }
};

TEST_P(user_code, regression_of_a_value_may_use_the_channel) {
  using value = always_calls_back;
  for (std::size_t const capacity : {std::size_t{0}, std::size_t{2}}) {
    rubato::channel<value> c(capacity);
    std::function<void()> const back = [&] { static_cast<void>(c.is_closed()); };
    auto send = [&]() -> rubato::task<> {
      value v(back);
      static_cast<void>(co_await c.send(v));
      static_cast<void>(co_await c.send(std::move(v)));
      auto one = rubato::select(c.sending(v, [](bool) {})); // NOLINT(bugprone-use-after-move)
      co_await std::move(one);
      auto any = rubato::when_any(c.send(v), rubato::sleep_for(std::chrono::hours(1)));
      static_cast<void>(co_await std::move(any));
    };
    auto receive = [&]() -> rubato::task<> {
      static_cast<void>(co_await c.receive());
      auto one = rubato::select(c.receiving([](auto const& v) { EXPECT_TRUE(v); }));
      co_await std::move(one);
      auto any = rubato::when_any(c.receive(), c.receive());
      static_cast<void>(co_await std::move(any));
      auto other = rubato::when_any(c.receive(), rubato::sleep_for(std::chrono::hours(1)));
      static_cast<void>(co_await std::move(other));
    };
    for (int i = 0; i != 4; ++i) {
      auto first = i % 2 == 0 ? pool.spawn(send()) : pool.spawn(receive());
      ASSERT_TRUE(pool.wait_idle());
      auto second = i % 2 == 0 ? pool.spawn(receive()) : pool.spawn(send());
      rubato::when_all(std::move(first), std::move(second)).get();
    }

    auto waits = pool.spawn(receive());
    ASSERT_TRUE(pool.wait_idle());
    EXPECT_TRUE(c.try_send(value(back)));
    ASSERT_TRUE(pool.wait_idle()); // the receiver waits for the next value
    EXPECT_TRUE(c.send_blocking(value(back)));
    waits.cancel();
    waits.wait();
    while (c.try_receive()) continue;
    for (std::size_t i = 0; i != capacity; ++i) EXPECT_TRUE(c.try_send(value(back)));
    EXPECT_FALSE(c.try_send(value(back)));
    auto refused = pool.spawn(send());
    ASSERT_TRUE(pool.wait_idle());
    c.close();
    refused.wait();
    EXPECT_FALSE(c.send_blocking(value(back)));
    for (std::size_t i = 0; i != capacity; ++i) EXPECT_TRUE(c.receive_blocking());
  }
}

/// Locks a mutex whenever it is moved or destroyed, and tells before.
class locks_when_moved {
  std::mutex* mutex_;
  std::atomic<int>* told_;

  void pass() const {
    ++*told_;
    std::lock_guard const held(*mutex_);
  }

public:
  locks_when_moved(std::mutex& m, std::atomic<int>& told)
      : mutex_(&m)
      , told_(&told) {}
  locks_when_moved(locks_when_moved&& other) noexcept
      : mutex_(other.mutex_)
      , told_(other.told_) {
    pass();
  }
  locks_when_moved(locks_when_moved const&) = delete;
  locks_when_moved& operator=(locks_when_moved const&) = delete;
  locks_when_moved& operator=(locks_when_moved&& other) noexcept {
    other.pass();
    return *this;
  }
  ~locks_when_moved() { pass(); }
};

TEST(value_code, regression_may_await_a_user_of_the_channel) {
  hang_guard const guard;
  for (std::size_t const capacity : {std::size_t{0}, std::size_t{2}}) {
    rubato::pool pool(1);
    std::mutex m;
    std::atomic<int> told{0};
    rubato::channel<locks_when_moved> c(capacity);
    auto send = [&]() -> rubato::task<bool> {
      locks_when_moved v(m, told);
      co_return co_await c.send(std::move(v));
    };
    auto receive = [&]() -> rubato::task<bool> {
      auto const v = co_await c.receive();
      co_return v.has_value();
    };
    // Runs it, and uses the channel under the mutex that the values want, while one of them waits for that.
    auto const crossed = [&](auto begin) {
      std::unique_lock held(m);
      told = 0;
      auto f = begin();
      while (told == 0) std::this_thread::yield();
      EXPECT_FALSE(c.is_closed());
      held.unlock();
      EXPECT_TRUE(f.get());
    };
    if (capacity == 0) {
      auto receiver = pool.spawn(receive());
      ASSERT_TRUE(pool.wait_idle());
      crossed([&] { return pool.spawn(send()); });
      EXPECT_TRUE(receiver.get());
      auto sender = pool.spawn(send());
      ASSERT_TRUE(pool.wait_idle());
      crossed([&] { return pool.spawn(receive()); });
      EXPECT_TRUE(sender.get());
    } else {
      for (std::size_t i = 0; i != capacity; ++i) crossed([&] { return pool.spawn(send()); });
      auto sender = pool.spawn(send()); // there is no room
      ASSERT_TRUE(pool.wait_idle());
      for (std::size_t i = 0; i != capacity + 1; ++i) crossed([&] { return pool.spawn(receive()); });
      EXPECT_TRUE(sender.get());
    }
  }
}

/// Queues f as a continuation, which a closed pool does not refuse.
template<class F>
void continue_in(rubato::pool& closed, F f) {
  rubato::promise<void> ready;
  ready.get_future().then(closed, std::move(f)).detach();
  ready.set_value();
}

TEST_P(user_code, regression_dropped_by_a_closed_pool_may_use_it) {
  std::atomic<int> called{0};
  std::function<void()> const back = [&] {
    pool.request_shutdown(rubato::discard);
    ++called;
  };
  pool.shutdown();
  continue_in(pool, calls_back(back));
  called = 0;
  pool.shutdown(rubato::discard);
  EXPECT_GT(called, 0);
  continue_in(pool, calls_back(back));
  std::atomic<bool> is_queued{false}; // a move calls back too, and would have the workers run what is queued
  std::function<void()> const restarts = [&] {
    if (is_queued && called++ < 10) pool.resize(GetParam());
  };
  continue_in(pool, calls_back(restarts));
  called = 0;
  is_queued = true;
  pool.shutdown(rubato::discard);
  EXPECT_GT(called, 0);
}

TEST_P(user_code, regression_dropped_by_a_closed_pool_may_await_it) {
  int value = 0;
  std::shared_ptr<int> last(&value, [&](int* v) {
    EXPECT_TRUE(pool.wait_idle());
    ++*v;
  });
  pool.shutdown();
  continue_in(pool, [held = std::move(last)] { static_cast<void>(held); });
  pool.shutdown(rubato::discard);
  EXPECT_EQ(value, 1);
}

} // namespace
