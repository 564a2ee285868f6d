// task<T>: what it may return, throw and await, and where it goes on.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

class coroutines : public on_workers {};
RUBATO_TEST_WITH_WORKERS(coroutines, all_counts);

template<class T>
rubato::task<T> brings(T value) {
  co_await rubato::yield();
  co_return std::move(value);
}
rubato::task<int&> refers(int& object) {
  co_await rubato::yield();
  co_return object;
}
rubato::task<int const&> refers_to_const(int const& object) { co_return object; }
rubato::task<void> brings_nothing() { co_await rubato::yield(); }
rubato::task<std::string> converts() { co_return "text"; }
rubato::task<int> fails(int n) {
  co_await rubato::yield();
  throw failure(n);
}

TEST_P(coroutines, bring_values_of_any_kind) {
  EXPECT_EQ(pool.spawn(brings(1)).get(), 1);
  EXPECT_EQ(pool.spawn(brings(std::string(100, 'x'))).get(), std::string(100, 'x'));
  EXPECT_EQ(*pool.spawn(brings(std::make_unique<int>(2))).get(), 2);
  EXPECT_EQ(pool.spawn(brings(move_only(3))).get().value, 3);
  EXPECT_EQ(pool.spawn(brings(only_constructible(4))).get().value, 4);
  EXPECT_EQ(pool.spawn(converts()).get(), "text");
  pool.spawn(brings_nothing()).get();
  int object = 0;
  auto f = pool.spawn(refers(object));
  static_assert(std::same_as<decltype(f), rubato::future<int&>>);
  EXPECT_EQ(&f.get(), &object);
  EXPECT_EQ(&pool.spawn(refers_to_const(object)).get(), &object);
}

TEST_P(coroutines, await_each_other_with_values_of_any_kind) {
  auto const all = []() -> rubato::task<int> {
    int const a = co_await brings(1);
    auto const text = co_await brings(std::string("22"));
    auto const pointer = co_await brings(std::make_unique<int>(3));
    int object = 4;
    int& r = co_await refers(object);
    int const& c = co_await refers_to_const(object);
    co_await brings_nothing();
    EXPECT_EQ(&r, &object);
    EXPECT_EQ(&c, &object);
    co_return a + static_cast<int>(text.size()) + *pointer + r;
  };
  EXPECT_EQ(pool.spawn(all).get(), 10);
}

TEST_P(coroutines, are_lazy) {
  leak_check const none_left;
  bool begun = false;
  auto const sets = [](bool& b, counted) -> rubato::task<void> {
    b = true;
    co_return;
  };
  {
    auto const never = sets(begun, counted(1));
  }
  EXPECT_FALSE(begun);
  auto t = sets(begun, counted(1));
  EXPECT_TRUE(t.valid());
  pool.spawn(std::move(t)).get();
  EXPECT_FALSE(t.valid()); // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(begun);
  pool.wait_idle();
}

TEST_P(coroutines, are_taken_by_the_await_and_end_whole) {
  struct marks_its_end {
    bool* ended;
    explicit marks_its_end(bool& b) noexcept
        : ended(&b) {}
    marks_its_end(marks_its_end&& other) noexcept
        : ended(std::exchange(other.ended, nullptr)) {}
    marks_its_end(marks_its_end const&) = delete;
    marks_its_end& operator=(marks_its_end const&) = delete;
    ~marks_its_end() {
      if (ended != nullptr) *ended = true;
    }
  };
  auto const holds = [](marks_its_end m) -> rubato::task<bool> { co_return *m.ended; };
  auto const body = [&]() -> rubato::task<void> {
    bool ended = false;
    rubato::task<bool> t = holds(marks_its_end(ended));
    EXPECT_TRUE(t.valid());
    bool const early = co_await t;
    EXPECT_FALSE(early);
    EXPECT_TRUE(ended);
    EXPECT_FALSE(t.valid());
    // In a group too, on whichever thread a member runs.
    bool first = false, second = false;
    auto const [a, b] = co_await rubato::when_all(holds(marks_its_end(first)), holds(marks_its_end(second)));
    EXPECT_FALSE(a || b);
    EXPECT_TRUE(first && second);
  };
  pool.block_on(body());
}

TEST_P(coroutines, pass_exceptions_on) {
  EXPECT_EQ(failure_of([&] { pool.spawn(fails(1)).get(); }), 1);
  auto const passes = []() -> rubato::task<int> {
    int const n = co_await fails(2);
    co_return n;
  };
  EXPECT_EQ(failure_of([&] { pool.spawn(passes).get(); }), 2);
  auto const catches = [this]() -> rubato::task<int> {
    int sum = 0;
    for (int i = 0; i != 4; ++i) {
      try {
        if (i % 2 == 0)
          sum += co_await fails(10);
        else
          sum += co_await pool.spawn(fails(10));
      } catch (failure const& e) {
        sum += e.number;
      }
    }
    co_return sum;
  };
  EXPECT_EQ(pool.spawn(catches).get(), 40);
}

TEST_P(coroutines, throw_away_the_value_if_a_destructor_follows_it) {
  leak_check const none_left;
  struct throws_after {
    ~throws_after() noexcept(false) { throw failure(5); }
  };
  auto const f = []() -> rubato::task<counted> {
    throws_after const local;
    co_return counted(1);
  };
  EXPECT_EQ(failure_of([&] { pool.spawn(f).get(); }), 5);
  pool.wait_idle();
}

TEST_P(coroutines, await_futures_of_every_kind) {
  rubato::promise<int> later;
  auto const shared = pool.spawn([] { return 100; }).share();
  auto const f = [&](rubato::future<int> from_promise) -> rubato::task<int> {
    int const a = co_await pool.spawn([] { return 1; });
    int const b = co_await std::move(from_promise);
    int const c = co_await shared;
    int const d = co_await shared;
    int const e = co_await rubato::make_ready_future(1'000);
    co_await pool.spawn([] {});
    auto pointer = co_await pool.spawn([] { return std::make_unique<int>(10'000); });
    int object = 0;
    int& r = co_await pool.spawn([&object]() -> int& { return object; });
    EXPECT_EQ(&r, &object);
    co_return a + b + c + d + e + *pointer;
  };
  auto result = pool.spawn(f, later.get_future());
  if (pool.size() != 0) pool.wait_idle();
  later.set_value(10);
  EXPECT_EQ(result.get(), 11'211);
}

TEST_P(coroutines, await_nothing_invalid) {
  auto const future = []() -> rubato::task<int> { co_return co_await rubato::future<int>(); };
  auto const shared = []() -> rubato::task<int> { co_return co_await rubato::shared_future<int>(); };
  auto const task = []() -> rubato::task<int> { co_return co_await rubato::task<int>(); };
  auto a = pool.spawn(future);
  auto b = pool.spawn(shared);
  auto c = pool.spawn(task);
  EXPECT_EQ(outcome_of_get(a), outcome::no_state);
  EXPECT_EQ(outcome_of_get(b), outcome::no_state);
  EXPECT_EQ(outcome_of_get(c), outcome::no_state);
}

TEST_P(coroutines, stay_on_their_pool_whichever_thread_resumes_them) {
  rubato::pool other(1);
  rubato::promise<void> from_outside;
  auto const f = [&](rubato::future<void> p) -> rubato::task<int> {
    int wrong = 0;
    for (int i = 0; i != 20; ++i) {
      co_await other.spawn([] {});
      wrong += rubato::current_pool() == &pool ? 0 : 1;
      co_await rubato::sleep_for(1us);
      wrong += rubato::current_pool() == &pool ? 0 : 1;
    }
    co_await std::move(p);
    wrong += rubato::current_pool() == &pool ? 0 : 1;
    co_return wrong;
  };
  auto result = pool.spawn(f, from_outside.get_future());
  from_outside.set_value();
  EXPECT_EQ(result.get(), 0);
}

TEST_P(coroutines, move_to_another_pool_and_stay_there) {
  rubato::pool other(1);
  auto const inner = [&]() -> rubato::task<void> { co_await rubato::resume_on(other); };
  auto const f = [&]() -> rubato::task<int> {
    int wrong = rubato::current_pool() == &pool ? 0 : 1;
    co_await rubato::resume_on(other);
    wrong += rubato::current_pool() == &other ? 0 : 2;
    co_await rubato::yield();
    wrong += rubato::current_pool() == &other ? 0 : 4;
    co_await rubato::resume_on(pool);
    wrong += rubato::current_pool() == &pool ? 0 : 8;
    co_await inner();
    wrong += rubato::current_pool() == &other ? 0 : 16;
    co_await rubato::resume_on(other); // already there
    wrong += rubato::current_pool() == &other ? 0 : 32;
    co_await rubato::resume_on(pool);
    co_return wrong;
  };
  for (int i = 0; i != 20; ++i) EXPECT_EQ(pool.spawn(f).get(), 0);
}

TEST_P(coroutines, on_a_seat_stay_there) {
  if (pool.size() == 0) return;
  unsigned const seat = pool.size() - 1;
  auto const f = []() -> rubato::task<std::size_t> {
    std::vector<std::thread::id> seen;
    for (int i = 0; i != 10; ++i) {
      seen.push_back(std::this_thread::get_id());
      co_await rubato::yield();
      co_await rubato::sleep_for(1us);
    }
    co_return seen.size();
  };
  EXPECT_EQ(pool.spawn_on(seat, f).get(), 10U);
  EXPECT_EQ(pool.spawn_on(seat, f()).get(), 10U);
}

// Awaitables of other libraries

/// Resumed by a thread of its own, at once or later.
struct by_another_thread {
  std::vector<std::thread>& threads;
  std::mutex& mutex;
  std::chrono::microseconds after;
  int value;

  by_another_thread(std::vector<std::thread>& t, std::mutex& m, std::chrono::microseconds a, int v)
      : threads(t)
      , mutex(m)
      , after(a)
      , value(v) {}
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> h) const {
    std::lock_guard const lock(mutex);
    threads.emplace_back([h, wait = after] {
      if (wait != 0us) std::this_thread::sleep_for(wait);
      h.resume();
    });
  }
  [[nodiscard]] int await_resume() const {
    if (value < 0) throw failure(-value);
    return value;
  }
};
/// Resumed in place, before await_suspend returns.
struct in_place {
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  static void await_suspend(std::coroutine_handle<> h) { h.resume(); }
  [[nodiscard]] static int await_resume() noexcept { return 7; }
};
struct never_suspends {
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  static bool await_suspend(std::coroutine_handle<> /*h*/) { return false; }
  static void await_resume() noexcept {}
};
struct cannot_suspend {
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  static void await_suspend(std::coroutine_handle<> /*h*/) { throw failure(8); }
  static void await_resume() noexcept {}
};
struct by_operator {
  in_place operator co_await() const noexcept { return {}; }
};

TEST_P(coroutines, await_what_other_threads_resume) {
  std::vector<std::thread> threads;
  std::mutex mutex;
  auto const f = [&](int n) -> rubato::task<int> {
    int sum = 0;
    for (int i = 0; i != n; ++i) {
      by_another_thread awaitable(threads, mutex, std::chrono::microseconds(i % 3 * 100), i);
      sum += co_await awaitable;
      EXPECT_EQ(rubato::current_pool(), &pool);
    }
    by_another_thread failing(threads, mutex, 0us, -6);
    try {
      sum += co_await failing;
    } catch (failure const& e) {
      sum += e.number;
    }
    co_return sum;
  };
  std::vector<rubato::future<int>> all;
  for (int i = 0; i != 4; ++i) all.push_back(pool.spawn(f, 10));
  for (auto& one : all) EXPECT_EQ(one.get(), 45 + 6);
  for (auto& t : threads) t.join();
}

TEST_P(coroutines, await_what_ends_in_place) {
  std::size_t const n = scaled(20'000);
  auto const f = [n]() -> rubato::task<std::size_t> {
    std::size_t sum = 0;
    for (std::size_t i = 0; i != n; ++i) {
      sum += static_cast<std::size_t>(co_await in_place());
      sum += static_cast<std::size_t>(co_await by_operator());
      co_await never_suspends();
      co_await std::suspend_never();
    }
    co_return sum;
  };
  EXPECT_EQ(pool.spawn(f).get(), 14 * n);
  auto const g = []() -> rubato::task<void> { co_await cannot_suspend(); };
  EXPECT_EQ(failure_of([&] { pool.spawn(g).get(); }), 8);
}

// Fork-join in the middle

TEST_P(coroutines, fork_and_join_in_their_middle) {
  auto const f = [](std::size_t n) -> rubato::task<std::size_t> {
    std::vector<std::size_t> values(n);
    co_await rubato::yield();
    rubato::for_index(std::size_t{0}, n, [&](std::size_t i) { values[i] = i; });
    co_await rubato::yield();
    auto const [a, b] =
        rubato::join([&] { return std::accumulate(values.begin(), values.end(), std::size_t{0}); },
                     [&] { return rubato::reduce(values, std::size_t{0}, std::plus<>()); });
    co_await rubato::yield();
    std::size_t c = 0;
    rubato::with_scope(
        [&](rubato::scope& s) { s.spawn([&] { c = rubato::spawn([] { return std::size_t{1}; }).get(); }); });
    co_return a == b ? a + c : 0;
  };
  std::vector<rubato::future<std::size_t>> all;
  for (int i = 0; i != 20; ++i) all.push_back(pool.spawn(f, 10'000));
  for (auto& one : all) EXPECT_EQ(one.get(), std::size_t{10'000} * 9'999 / 2 + 1);
}

} // namespace
