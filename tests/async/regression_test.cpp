// Defects that were found by reading, each with what shows it.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "async/outcome.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"

namespace {

using namespace std::chrono_literals;
using namespace rubato_test;
using async_test::failure;
using async_test::failure_of;

TEST(regression_async, a_stopped_scope_does_not_wait_for_what_has_not_begun) {
  rubato::pool pool(1);
  auto const body = [](rubato::scope& s) -> rubato::task<> {
    for (int i = 0; i != 3; ++i) s.spawn([] { throw failure(1); });
    co_return;
  };
  EXPECT_EQ(failure_of([&] { pool.block_on(rubato::with_async_scope(body)); }), 1);
}

TEST(regression_async, a_deadline_comes_though_the_pool_ends) {
  rubato::channel<int> never_sent(1);
  std::atomic<bool> ended{false};
  {
    rubato::pool pool(1);
    pool.enqueue([&] {
      auto const got = rubato::block_on(rubato::with_deadline(never_sent.receive(), 100s));
      ended = !got.has_value() || !got->has_value();
    });
  }
  EXPECT_TRUE(ended);
}

TEST(regression_async, the_argument_of_a_continuation_lives_as_long_as_its_task) {
  rubato::pool pool(1);
  leak_check const none_left;
  auto const looks_later = [](counted const& c) -> rubato::task<int> {
    co_await rubato::yield();
    co_return c.value;
  };
  EXPECT_EQ(pool.spawn([] { return counted(7); }).then(looks_later).get(), 7);
  EXPECT_EQ(pool.spawn([] { return counted(8); }).share().then(looks_later).get(), 8);
  pool.wait_idle();
}

TEST(regression_async, an_empty_exception_pointer_is_refused_and_sets_nothing) {
  rubato::promise<int> p;
  EXPECT_THROW(p.set_exception(std::exception_ptr()), std::invalid_argument);
  p.set_value(3);
  EXPECT_EQ(p.get_future().get(), 3);
}

TEST(regression_async, a_called_off_timer_may_call_off_others_in_its_destructor) {
  struct link {
    rubato::timer_handle next;
    explicit link(rubato::timer_handle n)
        : next(std::move(n)) {}
    link(link&&) = default;
    ~link() { static_cast<void>(next.cancel()); }
  };
  rubato::pool pool(1);
  rubato::timer_handle last;
  for (int i = 0; i != 20; ++i)
    last = pool.enqueue_after(100s, [keeps = std::make_unique<link>(std::move(last))] {});
  EXPECT_TRUE(last.cancel());
  EXPECT_TRUE(pool.wait_idle(10s));
}

} // namespace
