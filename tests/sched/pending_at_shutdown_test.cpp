// The end of a pool: whatever is pending gets an answer, and no thread touches the pool afterwards.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "support/jitter.hpp"
#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/second_thread.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

/// The pool that ends is a second one; the fixture's looks on.
class async_shutdown : public on_workers {
protected:
  std::optional<rubato::pool> mortal{std::in_place, rubato_test::with_workers(GetParam())};

  void end(bool by_discarding) {
    if (by_discarding) mortal->shutdown(rubato::discard);
    mortal.reset();
  }
};
RUBATO_TEST_WITH_WORKERS(async_shutdown, all_counts);

rubato::task<int> awaits(rubato::shared_future<int> f) {
  counted const local(1);
  int const n = co_await f;
  co_return n + local.value;
}

TEST_P(async_shutdown, breaks_waiting_coroutines_and_frees_frames) {
  for (bool const discard : {false, true}) {
    // A pool without workers discards in its destructor.
    auto const how = discard || GetParam() == 0 ? outcome::cancelled : outcome::broken;
    leak_check const none_left;
    rubato::promise<int> p;
    auto const never = p.get_future().share();
    mortal.emplace(rubato_test::with_workers(GetParam()));
    std::vector<rubato::future<int>> all;
    for (int i = 0; i != 20; ++i) all.push_back(mortal->spawn(awaits(never)));
    auto follower = mortal->spawn(awaits(never)).then(pool, [](int n) { return n; });
    mortal->wait_idle();
    end(discard);
    for (auto& f : all) {
      ASSERT_TRUE(f.ready());
      EXPECT_EQ(outcome_of_get(f), how);
    }
    EXPECT_NE(outcome_of_get(follower), outcome::value);
    p.set_value(1);
  }
}

TEST_P(async_shutdown, wakes_sleepers_as_cancelled) {
  auto const sleeper = []() -> rubato::task<int> {
    try {
      co_await rubato::sleep_for(1h);
    } catch (rubato::cancelled const&) {
      co_return 1;
    }
    co_return 0;
  };
  auto f = mortal->spawn(sleeper);
  mortal->resize(mortal->size() == 0 ? 1 : mortal->size()); // a worker must begin it
  EXPECT_FALSE(f.wait_for(1ms));
  end(false);
  EXPECT_TRUE(f.ready());
  auto const how = outcome_of_get(f); // unless it had not begun to sleep
  EXPECT_TRUE(how == outcome::value || how == outcome::cancelled) << how;
}

TEST_P(async_shutdown, draining_runs_what_is_ready_and_what_follows) {
  if (GetParam() == 0) return; // that one is discarded
  std::atomic<int> runs{0};
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 100; ++i)
    all.push_back(mortal->spawn([&] { ++runs; }).then([&] { ++runs; }).then([&]() -> rubato::task<void> {
      co_await rubato::yield();
      ++runs;
    }));
  end(false);
  EXPECT_EQ(runs, 300);
  for (auto& f : all) f.get();
}

TEST_P(async_shutdown, discarding_breaks_what_has_not_begun) {
  leak_check const none_left;
  std::atomic<int> runs{0};
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 300; ++i) {
    all.push_back(mortal->spawn([&, c = counted(1)] { runs += c.value; }));
    all.push_back(mortal->spawn([&, c = counted(1)] { runs += c.value; }).then([&, c = counted(1)] {
      runs += c.value;
    }));
    all.push_back(mortal->spawn([&, c = counted(1)]() -> rubato::task<void> {
      co_await rubato::yield();
      runs += c.value;
    }));
  }
  end(true);
  int ran = 0;
  for (auto& f : all) {
    ASSERT_TRUE(f.ready());
    auto const how = outcome_of_get(f);
    ASSERT_TRUE(how == outcome::value || how == outcome::broken || how == outcome::cancelled) << how;
    ran += how == outcome::value ? 1 : 0;
  }
  EXPECT_LE(ran, runs);
}

TEST_P(async_shutdown, a_continuation_wanted_there_is_broken) {
  for (bool const discard : {false, true}) {
    leak_check const none_left;
    rubato::promise<int> p;
    mortal.emplace(rubato_test::with_workers(GetParam()));
    auto f = p.get_future().then(*mortal, [c = counted(1)](int n) { return n + c.value; }).then([](int n) {
      return n;
    });
    end(discard);
    EXPECT_TRUE(f.wait_for(rubato_test::bound));
    EXPECT_EQ(outcome_of_get(f), outcome::broken);
    p.set_value(1); // no future is there any more
    pool.wait_idle();
    rubato::pool::global().wait_idle();
  }
}

TEST_P(async_shutdown, promises_and_futures_outlive_it) {
  rubato::promise<std::unique_ptr<int>> p;
  auto kept = p.get_future();
  auto done = mortal->spawn([] { return std::make_unique<int>(1); });
  done.wait();
  mortal->enqueue([&p] { p.set_value(std::make_unique<int>(2)); });
  mortal->wait_idle();
  end(false);
  EXPECT_EQ(*done.get(), 1);
  auto later = kept.then([](std::unique_ptr<int> n) { return *n; });
  EXPECT_EQ(later.get(), 2);
}

TEST_P(async_shutdown, of_a_values_pool_leaves_its_future_whole) {
  auto f = mortal->spawn([] { return 1; });
  f.wait();
  auto s = mortal->spawn([] { return 2; }).share();
  s.wait();
  end(false);
  EXPECT_EQ(f.then(pool, [](int n) { return n; }).get(), 1);
  EXPECT_EQ(s.then(pool, [](int n) { return n; }).get(), 2);
  EXPECT_EQ(pool.spawn(awaits(s)).get(), 3);
}

TEST_P(async_shutdown, a_pending_future_from_a_task_is_answered) {
  for (bool const discard : {false, true}) {
    rubato::promise<int> p;
    mortal.emplace(rubato_test::with_workers(GetParam()));
    auto f = mortal->spawn([&p] { return p.get_future(); });
    mortal->wait_idle();
    end(discard);
    std::thread setter([&p] {
      std::this_thread::sleep_for(2ms);
      p.set_value(1);
    });
    auto const how = outcome_of_get(f);
    EXPECT_TRUE(how == outcome::value || how == outcome::broken) << how;
    setter.join();
  }
}

TEST_P(async_shutdown, continuations_of_a_tasks_future_are_answered) {
  for (bool const before : {false, true}) {
    rubato::promise<int> p;
    mortal.emplace(rubato_test::with_workers(GetParam()));
    auto f = mortal->spawn([&p] { return p.get_future(); });
    mortal->wait_idle();
    if (before) f = f.then([](int n) { return n; });
    end(false);
    if (!before) f = f.then([](int n) { return n; });
    p.set_value(1);
    auto const how = outcome_of_get(f);
    EXPECT_TRUE(how == outcome::value || how == outcome::broken) << how;
  }
}

TEST_P(async_shutdown, when_all_and_when_any_of_it_are_answered) {
  for (bool const before : {false, true}) {
    rubato::promise<int> p;
    rubato::promise<int> q;
    mortal.emplace(rubato_test::with_workers(GetParam()));
    auto all = rubato::when_all(mortal->spawn([] { return 1; }), p.get_future());
    auto any =
        rubato::when_any(mortal->spawn([]() -> int { throw rubato_test::failure(1); }), q.get_future());
    mortal->wait_idle();
    auto const sum = [](std::tuple<int, int> t) { return std::get<0>(t) + std::get<1>(t); };
    auto const index = [](auto r) { return static_cast<int>(r.index); };
    rubato::future<int> f;
    rubato::future<int> g;
    if (before) {
      f = all.then(sum);
      g = any.then(index);
    }
    end(false);
    if (!before) {
      f = all.then(sum);
      g = any.then(index);
    }
    std::thread setter([&] {
      std::this_thread::sleep_for(2ms);
      p.set_value(2);
      q.set_value(3);
    });
    auto const how = outcome_of_get(f);
    EXPECT_TRUE(how == outcome::value || how == outcome::broken) << how;
    auto const other = outcome_of_get(g);
    EXPECT_TRUE(other == outcome::value || other == outcome::broken) << other;
    setter.join();
  }
}

TEST_P(async_shutdown, racing_promises_whose_continuations_it_has) {
  rubato_test::second_thread setter;
  std::size_t const rounds = scaled(GetParam() > 7 ? 30 : 300);
  for (std::size_t i = 0; i != rounds; ++i) {
    leak_check const none_left;
    rubato::promise<counted> p;
    mortal.emplace(rubato_test::with_workers(GetParam()));
    auto shared = p.get_future().share();
    auto f = shared.then(*mortal, [](counted const& c) { return c.value; });
    auto g = mortal->spawn(
        [](rubato::shared_future<counted> s) -> rubato::task<int> {
          counted const& c = co_await s;
          co_return c.value;
        },
        shared);
    shared = {};
    setter.begin([&p, i] {
      rubato_test::delay(static_cast<unsigned>(i * 31 % 20'000));
      p.set_value(counted(1));
    });
    rubato_test::delay(static_cast<unsigned>(i * 17 % 3'000));
    end(i % 2 == 0);
    ASSERT_TRUE(f.wait_for(rubato_test::bound));
    ASSERT_TRUE(g.ready());
    auto const how = outcome_of_get(f);
    ASSERT_NE(how, outcome::other); // cancelled: it was stopped before it was queued
    auto const other = outcome_of_get(g);
    ASSERT_NE(other, outcome::other);
    setter.wait();
  }
}

TEST_P(async_shutdown, racing_waiters_from_outside) {
  std::size_t const rounds = scaled(GetParam() > 7 ? 30 : 300);
  rubato_test::second_thread waiter;
  for (std::size_t i = 0; i != rounds; ++i) {
    mortal.emplace(rubato_test::with_workers(GetParam()));
    rubato::promise<int> never;
    auto f = mortal->spawn(awaits(never.get_future().share()));
    auto how = outcome::other;
    waiter.begin([&] { how = outcome_of_get(f); });
    rubato_test::delay(static_cast<unsigned>(i * 17 % 30'000));
    end(i % 2 == 0);
    waiter.wait();
    ASSERT_TRUE(how == outcome::broken || how == outcome::cancelled) << how;
  }
}

TEST_P(async_shutdown, of_work_that_makes_itself_anew) {
  if (GetParam() == 0) return;
  std::atomic<bool> over{false};
  std::atomic<unsigned> turns{0};
  auto const perpetual = [&]() -> rubato::task<void> {
    while (!over) {
      ++turns;
      co_await rubato::yield();
    }
  };
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 5; ++i) all.push_back(mortal->spawn(perpetual));
  EXPECT_TRUE(rubato_test::eventually([&] { return turns > 100; }));
  mortal->request_shutdown(rubato::discard); // yield() throws cancelled
  mortal->shutdown(rubato::discard);
  over = true;
  mortal.reset();
  for (auto& f : all) {
    auto const how = outcome_of_get(f);
    EXPECT_TRUE(how == outcome::value || how == outcome::broken || how == outcome::cancelled) << how;
  }
}

/// Resumed by hand.
struct by_hand {
  std::atomic<void*>& handle;
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const noexcept { handle = h.address(); }
  static void await_resume() noexcept {}
};

TEST_P(async_shutdown, waits_for_coroutines_that_others_must_resume) {
  if (GetParam() == 0) return; // no thread would begin them
  for (bool const discard : {false, true}) {
    leak_check const none_left;
    mortal.emplace(rubato_test::with_workers(GetParam()));
    std::atomic<void*> handle{nullptr};
    std::atomic<bool> resumed{false};
    auto const f = [&]() -> rubato::task<int> {
      counted const local(1);
      by_hand hand{handle};
      co_await hand;
      co_return local.value;
    };
    auto result = mortal->spawn(f);
    ASSERT_TRUE(rubato_test::eventually([&] { return handle != nullptr; }));
    std::thread resumer([&] {
      std::this_thread::sleep_for(5ms);
      resumed = true;
      std::coroutine_handle<>::from_address(handle).resume();
    });
    end(discard);
    EXPECT_TRUE(resumed);
    resumer.join();
    auto const how = outcome_of_get(result);
    EXPECT_TRUE(how == outcome::value || (discard && how == outcome::broken)) << how;
  }
}

TEST_P(async_shutdown, regression_grace_ends_while_coroutines_wait) {
  if (GetParam() == 0) return; // no thread would begin it
  mortal.emplace(rubato_test::with_workers(GetParam()));
  std::atomic<void*> handle{nullptr};
  auto result = mortal->spawn([&]() -> rubato::task<int> {
    by_hand hand{handle};
    co_await hand;
    co_return 1;
  });
  ASSERT_TRUE(rubato_test::eventually([&] { return handle != nullptr; }));
  std::thread resumer([&] {
    // A pool that drains runs tasks queued from outside, but 1,024 of them only; a pool that discards drops
    // them.
    auto how = outcome::value;
    for (auto pause = 1ms; how == outcome::value; pause *= 2) {
      std::this_thread::sleep_for(pause);
      auto probe = mortal->spawn([] { return 1; });
      how = outcome_of_get(probe);
    }
    std::coroutine_handle<>::from_address(handle).resume();
  });
  EXPECT_FALSE(mortal->shutdown(rubato::drain, 5ms));
  resumer.join();
  static_cast<void>(outcome_of_get(result));
}

TEST_P(async_shutdown, and_a_new_life) {
  for (int i = 0; i != 10; ++i) {
    rubato::promise<int> p;
    auto f = mortal->spawn(awaits(p.get_future().share()));
    if (i % 2 == 0)
      mortal->shutdown();
    else
      mortal->shutdown(rubato::discard);
    EXPECT_TRUE(GetParam() == 0 || f.ready());
    mortal->resize(1);
    EXPECT_EQ(mortal->spawn([] { return 1; }).then([](int n) { return n + 1; }).get(), 2);
    mortal->resize(GetParam());
    if (f.ready()) {
      EXPECT_NE(outcome_of_get(f), outcome::value);
    }
  }
}

/// A resize() during a shutdown begins the pool's next life, in which that shutdown ends nothing.
TEST(async_shutdown, regression_spares_what_comes_after_a_resize) {
  rubato::pool pool(2);
  gate release;
  std::atomic<bool> running{false};
  pool.enqueue([&](std::stop_token token) {
    running = eventually([&] { return token.stop_requested(); }); // the shutdown has begun
    static_cast<void>(release.wait());
  });
  rubato::promise<int> later;
  std::thread ends([&] { pool.shutdown(); });
  EXPECT_TRUE(eventually([&] { return running.load(); }));
  pool.resize(2);
  std::atomic<bool> suspends{false};
  auto f = pool.spawn([&, input = later.get_future()]() mutable -> rubato::task<int> {
    suspends = true;
    co_return co_await std::move(input);
  });
  EXPECT_TRUE(eventually([&] { return suspends.load(); }));
  release.open();
  ends.join();
  pool.wait_idle();
  later.set_value(5);
  EXPECT_EQ(outcome_of_get(f), outcome::value);
}

} // namespace
