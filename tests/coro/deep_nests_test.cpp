// Deep nests of what is suspended, or has not begun: they end in a time that is linear in their depth, and
// their end needs no deep stack.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::task;

// AddressSanitizer's frames take far more stack, and its allocations far more time.
constexpr std::size_t small_stack = std::size_t{under_asan ? 8'192 : 256} * 1024;
constexpr std::size_t levels(std::size_t n) { return under_asan ? n / 50 : sized(n); }

using gate = rubato::shared_future<void>;
using nest = task<void> (*)(std::size_t depth, gate innermost);

task<void> waits(gate g) { co_await g; }

task<void> of_tasks(std::size_t depth, gate g) {
  if (depth == 0)
    co_await g;
  else
    co_await of_tasks(depth - 1, g);
}
task<void> of_futures(std::size_t depth, gate g) {
  if (depth == 0) co_return co_await waits(g);
  auto inner = rubato::spawn(of_futures(depth - 1, g));
  co_await std::move(inner);
}
template<auto const& Combine>
task<void> of(std::size_t depth, gate g) {
  if (depth == 0) co_return co_await waits(g);
  auto both = Combine(of<Combine>(depth - 1, g), waits(g));
  co_await std::move(both);
}
task<void> of_scopes(std::size_t depth, gate g) {
  if (depth == 0) co_return co_await waits(g);
  auto const body = [](rubato::scope& s, std::size_t below, gate innermost) -> task<void> {
    s.spawn(of_scopes(below, innermost));
    co_await s.join();
  };
  co_await rubato::with_async_scope(body, depth - 1, g);
}
task<void> of_scopes_with_futures(std::size_t depth, gate g) {
  if (depth == 0) co_return co_await waits(g);
  auto const body = [](rubato::scope& s, std::size_t below, gate innermost) -> task<void> {
    auto inner = s.async(of_scopes_with_futures(below, innermost));
    co_await std::move(inner);
  };
  co_await rubato::with_async_scope(body, depth - 1, g);
}
task<void> of_scopes_in_one_task(std::size_t depth, gate g) {
  struct body {
    static task<void> run(rubato::scope& /*s*/, std::size_t left, gate innermost) {
      if (left == 0)
        co_await innermost;
      else
        co_await rubato::with_async_scope(&run, left - 1, innermost);
    }
  };
  co_await rubato::with_async_scope(&body::run, depth, g);
}
rubato::async_generator<int> generates(std::size_t depth, gate g) {
  if (depth == 0) {
    co_await g;
    co_yield 1;
  } else {
    auto inner = generates(depth - 1, g);
    auto const value = co_await inner.next();
    co_yield *value;
  }
}
task<void> of_generators(std::size_t depth, gate g) {
  auto outermost = generates(depth, g);
  static_cast<void>(co_await outermost.next());
}

enum class ended_by : unsigned char { drain, discard, cancel };

class deep_nests : public testing::TestWithParam<unsigned> {
  hang_guard guard_;
  rubato::pool small_stack_{rubato::pool_options().workers(1).stack_size(small_stack)};

protected:
  /// Runs it on a thread that has little stack.
  template<class F>
  void on_small_stack(F f) {
    small_stack_.spawn(std::move(f)).get();
  }
  [[nodiscard]] static rubato::pool_options small_stacks() {
    return with_workers(GetParam()).stack_size(small_stack);
  }
  /// Ends a nest that is suspended in its innermost coroutine.
  void end(nest make, ended_by how) {
    on_small_stack([&] {
      rubato::promise<void> never;
      rubato::pool pool(small_stacks());
      auto f = pool.spawn(make(levels(20'000), never.get_future().share()));
      pool.wait_idle();
      if (how == ended_by::cancel) f.cancel();
      if (how == ended_by::discard) pool.shutdown(rubato::discard);
      if (how == ended_by::drain) pool.shutdown(rubato::drain);
      EXPECT_NE(outcome_of_get(f), outcome::value);
    });
  }
  void end_in_each_way(nest make) {
    for (auto const how : {ended_by::drain, ended_by::discard, ended_by::cancel}) end(make, how);
  }
};
RUBATO_TEST_WITH_WORKERS(deep_nests, all_counts);

TEST_P(deep_nests, of_tasks_end) { end_in_each_way(&of_tasks); }
TEST_P(deep_nests, of_futures_end) { end_in_each_way(&of_futures); }
TEST_P(deep_nests, of_generators_end) { end_in_each_way(&of_generators); }
TEST_P(deep_nests, regression_of_when_any_end) { end_in_each_way(&of<rubato::when_any>); }
TEST_P(deep_nests, regression_of_when_first_end) { end_in_each_way(&of<rubato::when_first>); }
TEST_P(deep_nests, regression_of_when_all_end) { end_in_each_way(&of<rubato::when_all>); }
TEST_P(deep_nests, regression_of_scopes_end) { end_in_each_way(&of_scopes); }
TEST_P(deep_nests, regression_of_scopes_with_futures_end) { end_in_each_way(&of_scopes_with_futures); }
TEST_P(deep_nests, regression_of_scopes_in_one_task_end) { end_in_each_way(&of_scopes_in_one_task); }

/// Each waiter that had been asked was passed again for each that followed.
TEST_P(deep_nests, regression_long_chains_end_with_their_pool) {
  on_small_stack([] {
    rubato::promise<void> never;
    rubato::future<void> f = never.get_future();
    {
      rubato::pool pool(small_stacks());
      for (std::size_t i = 0; i != levels(1'000'000); ++i) f = std::move(f).then(pool, [] {});
    }
    EXPECT_EQ(outcome_of_get(f), outcome::broken);
  });
}

/// Each child that had been told was passed again for each that followed.
TEST_P(deep_nests, regression_a_scope_with_many_children_ends) {
  auto const body = [](rubato::scope& s, gate g) -> task<void> {
    for (std::size_t i = 0; i != levels(100'000); ++i) s.spawn(waits(g));
    co_await s.join();
  };
  for (auto const how : {ended_by::drain, ended_by::discard, ended_by::cancel}) {
    rubato::promise<void> never;
    rubato::pool pool(small_stacks());
    auto f = pool.spawn(rubato::with_async_scope(body, never.get_future().share()));
    pool.wait_idle();
    if (how == ended_by::cancel) f.cancel();
    if (how == ended_by::discard) pool.shutdown(rubato::discard);
    if (how == ended_by::drain) pool.shutdown(rubato::drain);
    EXPECT_NE(outcome_of_get(f), outcome::value);
  }
}

task<std::size_t> one() { co_return 1; }
task<std::size_t> adds_one(task<std::size_t> to) { co_return 1 + co_await std::move(to); }
rubato::async_generator<int> passes_on(rubato::async_generator<int> from) {
  for (;;) {
    auto const value = co_await from.next();
    if (!value.has_value()) break;
    co_yield *value;
  }
}
task<std::size_t> awaits_first(std::vector<task<std::size_t>> all) { co_return co_await all[0]; }

TEST_P(deep_nests, regression_of_unbegun_tasks_are_destroyed) {
  on_small_stack([] {
    task<std::size_t> t = one();
    for (std::size_t i = 0; i != levels(1'000'000); ++i) t = adds_one(std::move(t));
    t = {};
    rubato::async_generator<int> g = generates(0, {});
    for (std::size_t i = 0; i != levels(1'000'000); ++i) g = passes_on(std::move(g));
    g = {};
    for (std::size_t i = 0; i != levels(200'000); ++i) {
      std::vector<task<std::size_t>> both;
      both.push_back(std::move(t));
      both.push_back(one());
      t = awaits_first(std::move(both));
    }
    t = {};
  });
}

/// Tells when it goes.
struct tells_its_end {
  std::vector<int>* log;
  int number;
  tells_its_end(std::vector<int>& l, int n)
      : log(&l)
      , number(n) {}
  tells_its_end(tells_its_end&& other) noexcept
      : log(std::exchange(other.log, nullptr))
      , number(other.number) {}
  tells_its_end& operator=(tells_its_end&&) = delete;
  ~tells_its_end() {
    if (log != nullptr) log->push_back(number);
  }
};
task<int> holds(tells_its_end mine) { co_return mine.number; }
task<int> holds_too(task<int> inner, tells_its_end mine) {
  co_return mine.number + co_await std::move(inner);
}

TEST_P(deep_nests, of_unbegun_tasks_destroy_each_parameter_once) {
  std::vector<int> gone;
  constexpr int depth = 5'000;
  {
    task<int> t = holds(tells_its_end(gone, 0));
    for (int i = 1; i != depth; ++i) t = holds_too(std::move(t), tells_its_end(gone, i));
    EXPECT_TRUE(gone.empty());
  }
  ASSERT_EQ(gone.size(), static_cast<std::size_t>(depth)); // before the owner's destructor has returned
  std::vector<bool> seen(depth, false);
  for (int const n : gone) {
    EXPECT_FALSE(seen[static_cast<std::size_t>(n)]);
    seen[static_cast<std::size_t>(n)] = true;
  }
}

/// A coroutine that has begun has locals, to which what it holds may refer: it is destroyed at once.
TEST_P(deep_nests, of_tasks_go_before_other_locals_of_a_coroutine) {
  std::vector<int> gone;
  rubato::promise<void> never;
  {
    rubato::pool pool(small_stacks());
    auto f = pool.spawn(
        [&gone](gate g) -> task<void> {
          tells_its_end const first(gone, 1);
          task<int> const unbegun = holds(tells_its_end(gone, 2));
          tells_its_end const last(gone, 3);
          co_await g;
        },
        never.get_future().share());
    pool.wait_idle();
    pool.shutdown(rubato::drain);
    EXPECT_EQ(outcome_of_get(f), outcome::broken);
  }
  EXPECT_EQ(gone, (std::vector{3, 2, 1}));
}

} // namespace
