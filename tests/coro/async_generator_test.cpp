// async_generator: values one after the other, from a coroutine that may wait.
#include "support/async_sync.hpp"
#include "support/stack_meter.hpp"
#include "support/values.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>

namespace {

using namespace rubato_test;

class async_generator : public on_workers {};
RUBATO_TEST_WITH_WORKERS(async_generator, all_counts);

rubato::async_generator<int> numbers(int n) {
  for (int i = 0; i != n; ++i) co_yield i;
}

rubato::task<long> sum(rubato::async_generator<int> g) {
  long s = 0;
  for (;;) {
    std::optional<int> const v = co_await g.next();
    if (!v) break;
    s += *v;
  }
  std::optional<int> const after_the_end = co_await g.next();
  EXPECT_FALSE(after_the_end);
  co_return s;
}

TEST_P(async_generator, yields_values_until_it_ends) {
  EXPECT_EQ(pool.block_on(sum(numbers(100))), 4'950);
  EXPECT_EQ(pool.block_on(sum(numbers(0))), 0);
  EXPECT_EQ(pool.block_on(numbers(1).next()), std::optional<int>(0));
}

TEST_P(async_generator, may_await_whatever_a_task_may) {
  rubato::channel<int> c(1);
  rubato::async_mutex m;
  auto squares = [&](int n) -> rubato::async_generator<int> {
    for (int i = 0; i != n; ++i) {
      auto const lock = co_await m.scoped_lock();
      co_await rubato::yield();
      int const a = co_await rubato::spawn([](int x) { return x * x; }, i);
      auto zero = []() -> rubato::task<int> { co_return 0; };
      int const b = co_await zero();
      bool const sent = co_await c.send(a);
      EXPECT_TRUE(sent);
      std::optional<int> const v = co_await c.receive();
      co_yield *v + b;
    }
  };
  EXPECT_EQ(pool.block_on(sum(squares(100))), 328'350);
}

rubato::async_generator<std::string> words() {
  std::string const kept = "an lvalue that is too long to be stored in place";
  co_yield kept;
  EXPECT_FALSE(kept.empty());
  std::string moved = "an rvalue that is too long to be stored in place";
  co_yield std::move(moved);
  co_yield "a literal that is too long to be stored in place";
  co_yield {};
}

TEST_P(async_generator, copies_moves_and_converts) {
  auto g = words();
  EXPECT_EQ(pool.block_on(g.next()), "an lvalue that is too long to be stored in place");
  EXPECT_EQ(pool.block_on(g.next()), "an rvalue that is too long to be stored in place");
  EXPECT_EQ(pool.block_on(g.next()), "a literal that is too long to be stored in place");
  EXPECT_EQ(pool.block_on(g.next()), "");
  EXPECT_EQ(pool.block_on(g.next()), std::nullopt);
}

rubato::async_generator<int&> references(std::vector<int>& all) {
  for (int& i : all) co_yield i;
}
rubato::async_generator<int const&> constants(std::vector<int> const& all) {
  for (int const& i : all) co_yield i;
}

TEST_P(async_generator, yields_references) {
  std::vector<int> all{1, 2, 3};
  auto triple = [&]() -> rubato::task<int> {
    auto g = references(all);
    for (;;) {
      std::optional<std::reference_wrapper<int>> const i = co_await g.next();
      if (!i) break;
      i->get() *= 3;
    }
    int s = 0;
    auto again = constants(all);
    for (;;) {
      std::optional<std::reference_wrapper<int const>> const i = co_await again.next();
      if (!i) co_return s;
      s += *i;
    }
  };
  EXPECT_EQ(pool.block_on(triple()), 18);
  EXPECT_EQ(all, (std::vector<int>{3, 6, 9}));
}

rubato::async_generator<move_only> movables() {
  co_yield move_only(1);
  move_only two(2);
  co_yield std::move(two);
}
rubato::async_generator<void> ticks(int n) {
  for (int i = 0; i != n; ++i) co_yield {};
}

TEST_P(async_generator, yields_move_only_values_and_no_value_at_all) {
  auto g = movables();
  EXPECT_EQ(pool.block_on(g.next())->value, 1);
  EXPECT_EQ(pool.block_on(g.next())->value, 2);
  EXPECT_FALSE(pool.block_on(g.next()));
  auto t = ticks(1);
  EXPECT_EQ(pool.block_on(t.next()), std::optional<std::monostate>(std::monostate()));
  EXPECT_FALSE(pool.block_on(t.next()));
}

rubato::async_generator<int> throws_after(int n) {
  for (int i = 0; i != n; ++i) co_yield i;
  throw std::runtime_error("from the middle of a generator");
}

TEST_P(async_generator, throws_once_and_has_ended) {
  auto g = throws_after(2);
  EXPECT_EQ(pool.block_on(g.next()), std::optional<int>(0));
  EXPECT_EQ(pool.block_on(g.next()), std::optional<int>(1));
  EXPECT_THROW(pool.block_on(g.next()), std::runtime_error);
  EXPECT_EQ(pool.block_on(g.next()), std::nullopt);
}

rubato::async_generator<int> holding(std::atomic<int>& frames) {
  in_frame const here(frames);
  counted const kept(1);
  for (int i = 0;; ++i) co_yield i;
}

TEST_P(async_generator, is_destroyed_wherever_it_is) {
  leak_check const leaks;
  std::atomic<int> frames{0};
  {
    auto begun = holding(frames);
    auto const not_begun = holding(frames);
    EXPECT_EQ(frames, 0);
    EXPECT_EQ(pool.block_on(begun.next()), std::optional<int>(0));
    EXPECT_EQ(pool.block_on(begun.next()), std::optional<int>(1));
    EXPECT_EQ(frames, 1);
    auto moved = std::move(begun);
    EXPECT_FALSE(begun.valid()); // NOLINT(bugprone-use-after-move)
    EXPECT_THROW(static_cast<void>(begun.next()), std::future_error);
    EXPECT_EQ(pool.block_on(moved.next()), std::optional<int>(2));
    moved = holding(frames);
    EXPECT_EQ(frames, 0);
    EXPECT_EQ(pool.block_on(moved.next()), std::optional<int>(0));
    auto& self = moved;
    moved = std::move(self);
    EXPECT_EQ(frames, 1);
  }
  EXPECT_EQ(frames, 0);
}

TEST_P(async_generator, answers_one_next_at_a_time) {
  rubato::async_semaphore go(0);
  auto slow = [&]() -> rubato::async_generator<int> {
    co_await go.acquire();
    co_yield 1;
  };
  auto g = slow();
  auto next = [&]() -> rubato::task<std::optional<int>> { co_return co_await g.next(); };
  auto first = pool.spawn(next());
  let_all_wait(pool);
  EXPECT_THROW(static_cast<void>(pool.block_on(next())), std::logic_error);
  go.release();
  EXPECT_EQ(first.get(), std::optional<int>(1));
  EXPECT_EQ(pool.block_on(next()), std::nullopt);
}

TEST_P(async_generator, is_stopped_with_its_awaiter) {
  rubato::channel<int> c(0);
  auto forwards = [&]() -> rubato::async_generator<int> {
    for (;;) {
      std::optional<int> const v = co_await c.receive();
      if (!v) co_return;
      co_yield *v;
    }
  };
  auto f = pool.spawn(sum(forwards()));
  let_all_wait(pool);
  EXPECT_TRUE(c.try_send(3));
  let_all_wait(pool);
  EXPECT_TRUE(c.try_send(4));
  let_all_wait(pool);
  f.cancel();
  EXPECT_EQ(f.get(), 7);
}

rubato::async_generator<int> counts_with(stack_meter& meter, int n) {
  for (int i = 0; i != n; ++i) {
    if (i % 1'024 == 0) meter.touch();
    co_yield 1;
  }
}
rubato::async_generator<int> passes_on(rubato::async_generator<int> from, stack_meter& meter) {
  for (int i = 0;; ++i) {
    std::optional<int> const v = co_await from.next();
    if (!v) co_return;
    if (i % 1'024 == 0) meter.touch();
    co_yield *v;
  }
}

TEST_P(async_generator, takes_no_stack_however_often_it_is_asked) {
  int const n = static_cast<int>(rubato_test::sized(10'000'000) / (GetParam() == 1 ? 1 : 20));
  stack_meter meter;
  EXPECT_EQ(pool.block_on(sum(counts_with(meter, n))), n);
  EXPECT_EQ(pool.block_on(sum(passes_on(passes_on(counts_with(meter, n / 4), meter), meter))), n / 4);
  EXPECT_LE(meter.extent(), std::size_t{64} << 10);
}

/// How deep they are nested costs no stack either.
TEST_P(async_generator, may_be_nested) {
  stack_meter meter;
  auto g = numbers(50);
  for (int i = 0; i != 300; ++i) g = passes_on(std::move(g), meter);
  EXPECT_EQ(pool.block_on(sum(std::move(g))), 1'225);
  EXPECT_LE(meter.extent(), std::size_t{64} << 10);
}

} // namespace
