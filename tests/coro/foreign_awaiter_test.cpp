// Awaiters of other libraries in a task: the awaiter that the program has made is the one that is asked.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <coroutine>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/pools.hpp"

namespace {

using namespace rubato_test;

class foreign_awaiters : public on_workers {};
RUBATO_TEST_WITH_WORKERS(foreign_awaiters, all_counts);

/// Yields its address, which tells a copy from it.
struct tells_its_address {
  int copies = 0, moves = 0;
  tells_its_address() = default;
  tells_its_address(tells_its_address const& other)
      : copies(other.copies + 1)
      , moves(other.moves) {}
  tells_its_address(tells_its_address&& other) noexcept
      : copies(other.copies)
      , moves(other.moves + 1) {}
  tells_its_address& operator=(tells_its_address const&) = delete;
  ~tells_its_address() = default;
  [[nodiscard]] bool await_ready() const { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> /*h*/) const { return false; }
  [[nodiscard]] tells_its_address const* await_resume() const { return this; }
};

TEST_P(foreign_awaiters, regression_a_variable_is_asked_in_its_place) {
  auto const test = []() -> rubato::task<bool> {
    tells_its_address variable;
    auto const* const asked = co_await variable;
    tells_its_address const constant;
    auto const* const asked_too = co_await constant;
    co_return asked == &variable&& asked_too == &constant&& variable.copies + variable.moves == 0;
  };
  EXPECT_TRUE(pool.block_on(test()));
}

TEST_P(foreign_awaiters, regression_a_moved_one_is_asked_in_place) {
  auto const test = []() -> rubato::task<bool> {
    tells_its_address variable;
    auto const* const asked = co_await std::move(variable);
    co_return asked == &variable; // NOLINT(bugprone-use-after-move): it was not moved
  };
  EXPECT_TRUE(pool.block_on(test()));
}

TEST_P(foreign_awaiters, regression_a_temporary_is_left_in_its_place) {
  struct counts : tells_its_address {
    [[nodiscard]] int await_resume() const { return copies + moves; }
  };
  auto const test = []() -> rubato::task<int> { co_return co_await counts(); };
  EXPECT_EQ(pool.block_on(test()), 0);
}

/// Suspends until another thread resumes it; neither copied nor moved.
struct resumed_elsewhere {
  std::atomic<int> value{0};
  std::jthread other;
  resumed_elsewhere() = default;
  [[nodiscard]] static bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<> h) {
    other = std::jthread([this, h] {
      value = 3;
      h.resume();
    });
  }
  [[nodiscard]] int await_resume() const { return value; }
};

TEST_P(foreign_awaiters, regression_one_without_copies_is_awaited) {
  auto const test = []() -> rubato::task<int> {
    resumed_elsewhere variable;
    int const value = co_await variable;
    co_return value;
  };
  EXPECT_EQ(pool.block_on(test()), 3);
}

/// What await_suspend() may return.
struct returns_void {
  [[nodiscard]] static bool await_ready() { return false; }
  static void await_suspend(std::coroutine_handle<> h) { h.resume(); }
  [[nodiscard]] static int await_resume() { return 1; }
};
struct returns_bool {
  bool suspends;
  [[nodiscard]] static bool await_ready() { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) const {
    if (suspends) h.resume();
    return suspends;
  }
  [[nodiscard]] static int await_resume() { return 2; }
};
struct returns_handle {
  [[nodiscard]] static bool await_ready() { return false; }
  [[nodiscard]] static std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) { return h; }
  [[nodiscard]] static int await_resume() { return 4; }
};
struct is_ready {
  [[nodiscard]] static bool await_ready() { return true; }
  static void await_suspend(std::coroutine_handle<> /*h*/) {}
  [[nodiscard]] static int await_resume() { return 8; }
};

TEST_P(foreign_awaiters, regression_may_suspend_in_any_of_three_ways) {
  auto const test = []() -> rubato::task<int> {
    int sum = co_await returns_void();
    returns_bool suspends(true);
    sum += co_await suspends;
    returns_bool const goes_on(false);
    sum += co_await goes_on;
    sum += co_await returns_handle();
    is_ready ready;
    sum += co_await ready;
    co_return sum;
  };
  EXPECT_EQ(pool.block_on(test()), 1 + 2 + 2 + 4 + 8);
}

/// Objects with operator co_await.
struct has_member {
  resumed_elsewhere inner;
  resumed_elsewhere& operator co_await() { return inner; }
};
struct makes_one {
  tells_its_address operator co_await() && { return {}; }
};
struct has_free_operator {
  tells_its_address inner;
};
tells_its_address& operator co_await(has_free_operator & x) { return x.inner; }

TEST_P(foreign_awaiters, regression_operator_co_await_names_another) {
  auto const test = []() -> rubato::task<bool> {
    has_member member;
    int const value = co_await member;
    has_free_operator free;
    auto const* const asked = co_await free;
    auto const* const made = co_await makes_one();
    co_return value == 3 && asked == &free.inner&& made != nullptr;
  };
  EXPECT_TRUE(pool.block_on(test()));
}

TEST_P(foreign_awaiters, regression_results_pass_as_they_are) {
  struct yields_reference {
    int* to;
    [[nodiscard]] static bool await_ready() { return true; }
    static void await_suspend(std::coroutine_handle<> /*h*/) {}
    [[nodiscard]] int& await_resume() const { return *to; }
  };
  struct yields_unique {
    std::unique_ptr<int> value = std::make_unique<int>(7);
    [[nodiscard]] static bool await_ready() { return true; }
    static void await_suspend(std::coroutine_handle<> /*h*/) {}
    [[nodiscard]] std::unique_ptr<int> await_resume() { return std::move(value); }
  };
  struct fails {
    [[nodiscard]] static bool await_ready() { return true; }
    static void await_suspend(std::coroutine_handle<> /*h*/) {}
    static void await_resume() { throw std::runtime_error("as the awaiter does"); }
  };
  auto const test = []() -> rubato::task<bool> {
    int x = 1;
    yields_reference refers(&x);
    int& y = co_await refers;
    yields_unique owns;
    std::unique_ptr<int> const p = co_await owns;
    co_return &y == &x && *p == 7 && owns.value == nullptr;
  };
  EXPECT_TRUE(pool.block_on(test()));
  auto const failing = []() -> rubato::task<void> {
    fails f;
    co_await f;
  };
  EXPECT_THROW(pool.block_on(failing()), std::runtime_error);
}

/// Its members take a variable only, as those of an awaiter may: the compiler calls them on one.
struct takes_variables {
  [[nodiscard]] bool await_ready() & { return true; }
  void await_suspend(std::coroutine_handle<> /*h*/) & {}
  [[nodiscard]] int await_resume() & { return 7; }
};
struct makes_variable {
  takes_variables operator co_await() const { return {}; }
};

TEST_P(foreign_awaiters, regression_members_may_take_variables_only) {
  auto const test = []() -> rubato::task<int> {
    int sum = co_await takes_variables();
    sum += co_await makes_variable();
    takes_variables variable;
    sum += co_await variable;
    co_return sum;
  };
  EXPECT_EQ(pool.block_on(test()), 21);
}

} // namespace
