// The headers that the contract names for a part bring all of it.
#include <rubato/future.hpp>
#include <rubato/sync.hpp>
#include <rubato/task.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <tuple>

namespace {

rubato::async_generator<int> one() { co_yield 1; }

rubato::task<int> uses_everything() {
  auto const [a, b] =
      co_await rubato::when_all(rubato::spawn([] { return 1; }), rubato::make_ready_future(2));
  co_await rubato::sleep_for(std::chrono::nanoseconds(1));
  rubato::interval ticks(std::chrono::microseconds(1));
  co_await ticks.tick();
  rubato::channel<int> c(1);
  co_await c.send(4);
  auto const received = co_await rubato::with_deadline(c.receive(), rubato::never);
  auto g = one();
  auto const generated = co_await g.next();
  co_return a + b + received->value() + *generated;
}

TEST(named_headers, bring_futures_and_coroutines) { EXPECT_EQ(rubato::block_on(uses_everything()), 8); }

} // namespace
