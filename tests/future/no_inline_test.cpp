// A continuation never runs inside set_value, get, wait, cancel or a claim: their caller may hold
// locks.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"

namespace {

using namespace rubato_test;

/// Not null while this thread is inside a call that must run no foreign code.
thread_local char const* inside = nullptr;

/// A call during which nothing that was handed out by guarded() may run on this thread.
template<class F>
void call_guarded(char const* name, F&& f) {
  inside = name;
  std::forward<F>(f)();
  inside = nullptr;
}

class no_inline : public on_workers {
protected:
  std::mutex mutex;
  std::atomic<int> runs{0};

  /// A continuation that takes the lock which its completer holds.
  auto guarded() {
    return [this](auto&&...) {
      EXPECT_EQ(inside, nullptr) << "a continuation runs inside " << inside;
      if (inside != nullptr) return; // it would dead lock
      std::lock_guard const lock(mutex);
      ++runs;
    };
  }
  rubato::task<void> guarded_after(rubato::shared_future<int> f) {
    co_await std::move(f);
    guarded()();
  }

  /// One of each kind that waits for the value.
  std::vector<rubato::future<void>> attach_all(rubato::shared_future<int> f) {
    std::vector<rubato::future<void>> all;
    all.push_back(f.then(pool, guarded()));
    all.push_back(f.then(guarded()));
    all.push_back(f.then(pool, [this](rubato::shared_future<int> const&) { guarded()(); }));
    all.push_back(f.then(pool, [](int) {}).then(guarded()));
    all.push_back(pool.spawn(guarded_after(f)));
    all.push_back(rubato::when_all(f, f).then(pool, [this](std::tuple<int, int>) { guarded()(); }));
    all.push_back(rubato::when_any(f, f).then(pool, [this](auto const&) { guarded()(); }));
    all.push_back(pool.spawn([f] { return f.then([](int n) { return n; }); }).then(guarded()));
    if (pool.size() != 0) pool.wait_idle(); // all wait now
    return all;
  }
  void expect_all(std::vector<rubato::future<void>>& all) {
    int const n = static_cast<int>(all.size());
    for (auto& f : all) f.get();
    EXPECT_EQ(runs, n);
  }
};
RUBATO_TEST_WITH_WORKERS(no_inline, all_counts);

TEST_P(no_inline, in_set_exception) {
  rubato::promise<int> p;
  auto const f = p.get_future().share();
  std::vector<rubato::future<void>> all;
  all.push_back(f.then([this](rubato::shared_future<int> const&) { guarded()(); }));
  all.push_back(f.then(pool, [this](rubato::shared_future<int> const&) { guarded()(); }));
  all.push_back(rubato::when_all(f, f).then([this](rubato::future<std::tuple<int, int>>) { guarded()(); }));
  all.push_back(pool.spawn(
      [this](rubato::shared_future<int> g) -> rubato::task<void> {
        try {
          co_await g;
        } catch (failure const&) {
          guarded()();
        }
      },
      f));
  if (pool.size() != 0) pool.wait_idle();
  {
    std::lock_guard const lock(mutex);
    call_guarded("set_exception()", [&] { p.set_exception(failure(1)); });
  }
  expect_all(all);
}

TEST_P(no_inline, in_set_value) {
  rubato::promise<int> p;
  auto all = attach_all(p.get_future().share());
  {
    std::lock_guard const lock(mutex);
    call_guarded("set_value", [&] { p.set_value(1); });
  }
  expect_all(all);
}

TEST_P(no_inline, in_set_value_by_a_task) {
  rubato::promise<int> p;
  auto all = attach_all(p.get_future().share());
  pool.spawn([&] {
        std::lock_guard const lock(mutex);
        call_guarded("set_value", [&] { p.set_value(1); });
      })
      .get();
  expect_all(all);
}

TEST_P(no_inline, in_set_value_by_a_coroutine) {
  rubato::promise<int> p;
  auto all = attach_all(p.get_future().share());
  pool.spawn([&]() -> rubato::task<void> {
        co_await rubato::yield();
        std::lock_guard const lock(mutex);
        call_guarded("set_value", [&] { p.set_value(1); });
      })
      .get();
  expect_all(all);
}

TEST_P(no_inline, in_the_end_of_a_promise) {
  std::optional<rubato::promise<int>> p(std::in_place);
  std::vector<rubato::future<void>> all;
  auto const s = p->get_future().share();
  for (int i = 0; i != 3; ++i)
    all.push_back(s.then(pool, [this](rubato::shared_future<int> const&) { guarded()(); }));
  {
    std::lock_guard const lock(mutex);
    call_guarded("~promise", [&] { p.reset(); });
  }
  expect_all(all);
}

TEST_P(no_inline, in_then_of_a_result_that_is_there) {
  auto const s = rubato::make_ready_future(1).share();
  std::vector<rubato::future<void>> all;
  {
    std::lock_guard const lock(mutex);
    call_guarded("then", [&] {
      all.push_back(s.then(pool, guarded()));
      all.push_back(rubato::make_ready_future(1).then(pool, guarded()));
      pool.run([&] { all.push_back(s.then(guarded())); });
    });
  }
  expect_all(all);
}

TEST_P(no_inline, in_get_and_wait_of_a_claimed_task) {
  // One worker is enough: the task that waits runs the other one in place, but not what follows that.
  std::optional<rubato::future<void>> follower;
  pool.spawn([&] {
        auto const work = pool.spawn([] { return 1; }).share();
        follower.emplace(work.then(guarded()));
        std::lock_guard const lock(mutex);
        call_guarded("get", [&] { EXPECT_EQ(work.get(), 1); });
      })
      .get();
  follower->get();
  EXPECT_EQ(runs, 1);
}

TEST_P(no_inline, in_get_of_a_coroutine_that_keeps_a_promise) {
  std::optional<rubato::future<void>> follower;
  pool.spawn([&] {
        rubato::promise<int> p;
        follower.emplace(p.get_future().then(guarded()));
        auto work = pool.spawn(
            [](rubato::promise<int> mine) -> rubato::task<void> {
              mine.set_value(1);
              co_return;
            },
            std::move(p));
        std::lock_guard const lock(mutex);
        call_guarded("get", [&] { work.get(); });
      })
      .get();
  follower->get();
  EXPECT_EQ(runs, 1);
}

TEST_P(no_inline, in_cancel) {
  rubato::pool idle(rubato::no_workers);
  auto work = idle.spawn([] { return 1; });
  std::vector<rubato::future<void>> all;
  auto middle = work.then([](int n) { return n; });
  auto follower = middle.then(pool, [this](rubato::future<int> const&) { guarded()(); });
  auto sleeper =
      pool.spawn([]() -> rubato::task<void> { co_await rubato::sleep_for(std::chrono::hours(1)); });
  rubato::promise<void> later;
  auto const shared = later.get_future().share();
  auto after = shared.then(pool, [this](rubato::shared_future<void> const&) { guarded()(); });
  {
    std::lock_guard const lock(mutex);
    call_guarded("cancel", [&] {
      sleeper.cancel();
      follower.cancel();
      after.cancel();
    });
  }
  later.set_value();
  EXPECT_EQ(outcome_of_get(sleeper), outcome::cancelled);
  idle.wait_idle();
  EXPECT_EQ(outcome_of_get(follower), outcome::cancelled);
  pool.wait_idle();
  EXPECT_EQ(runs, 0); // all were cancelled before they had begun
}

TEST_P(no_inline, at_the_end_of_a_future_that_another_thread_awaits) {
  // Cancelling ends the sleep, which completes what another coroutine awaits: that one runs elsewhere.
  if (pool.size() == 0) return;
  rubato::promise<int> kept_by_stop;
  std::optional<std::stop_callback<std::function<void()>>> on_stop;
  auto const follower = kept_by_stop.get_future().share();
  auto all = attach_all(follower);
  auto f = pool.spawn([&](std::stop_token t) {
    on_stop.emplace(std::move(t), [&] { kept_by_stop.set_value(1); });
    return follower.then([](int n) { return n; });
  });
  pool.wait_idle();
  {
    std::lock_guard const lock(mutex);
    call_guarded("~future", [&] { f = {}; });
  }
  expect_all(all);
}

TEST_P(no_inline, in_the_waits_of_a_task_with_a_deadline) {
  if (pool.size() == 0) return; // a thread that waits there runs ready tasks
  rubato::promise<int> p;
  auto all = attach_all(p.get_future().share());
  pool.spawn([&] {
        std::lock_guard const lock(mutex);
        call_guarded("wait_for", [&] {
          p.set_value(1);
          rubato::promise<void> never;
          EXPECT_FALSE(never.get_future().wait_for(std::chrono::milliseconds(1)));
        });
      })
      .get();
  expect_all(all);
}

} // namespace
