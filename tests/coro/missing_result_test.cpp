// A coroutine that flows off its end without the result that it owes ends the program, with a message.
#include "support/process.hpp"

#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

// Compilers warn of just that.
#pragma GCC diagnostic ignored "-Wreturn-type"

namespace {

rubato::task<int> flows_off(bool has_result) {
  co_await rubato::yield();
  if (has_result) co_return 1;
}
rubato::task<int&> flows_off_without_reference(int* target) {
  co_await rubato::yield();
  if (target != nullptr) co_return *target;
}
rubato::task<> awaits() { static_cast<void>(co_await flows_off(false)); }
rubato::task<> catches() {
  try {
    static_cast<void>(co_await flows_off(false));
  } catch (...) { // NOLINT(bugprone-empty-catch): it is no exception
  }
}

using regression_missing_result = rubato_test::fresh_process;

constexpr char const* message = "rubato: a coroutine has ended without a result: its body flowed off its end";

template<class F>
void expect_message(F f) {
  EXPECT_DEATH(
      {
        rubato::pool pool(2);
        f(pool);
      },
      message);
}

TEST_F(regression_missing_result, where_it_is_awaited) {
  expect_message([](rubato::pool& p) { p.block_on(awaits()); });
  expect_message([](rubato::pool& p) { p.block_on(catches()); });
  expect_message([](rubato::pool& p) { p.block_on(flows_off(false)); });
  expect_message([](rubato::pool& p) { p.block_on(flows_off_without_reference(nullptr)); });
}

TEST_F(regression_missing_result, in_a_task_of_the_pool) {
  expect_message([](rubato::pool& p) { p.spawn(flows_off, false).get(); });
  expect_message([](rubato::pool& p) {
    p.enqueue([] { return flows_off(false); }); // no caller wants the result
    p.wait_idle();
  });
  expect_message(
      [](rubato::pool& p) { rubato::with_scope(p, [](rubato::scope& s) { s.spawn(flows_off(false)); }); });
}

TEST_F(regression_missing_result, beside_others) {
  expect_message([](rubato::pool& p) { p.block_on(rubato::when_all(flows_off(true), flows_off(false))); });
  expect_message([](rubato::pool& p) { p.block_on(rubato::when_any(flows_off(false), flows_off(false))); });
  expect_message(
      [](rubato::pool& p) { p.block_on(rubato::with_deadline(flows_off(false), std::chrono::hours(1))); });
}

TEST(missing_result, is_none_if_it_is_there) {
  rubato::pool pool(2);
  int target = 0;
  EXPECT_EQ(pool.block_on(flows_off(true)), 1);
  EXPECT_EQ(&pool.block_on(flows_off_without_reference(&target)), &target);
}

} // namespace
