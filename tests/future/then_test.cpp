// future::then: what a continuation is given, where it runs, and chains as long as one likes.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/second_thread.hpp"
#include "support/stack_meter.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

class then : public on_workers {};
RUBATO_TEST_WITH_WORKERS(then, all_counts);

TEST_P(then, gives_the_value) {
  EXPECT_EQ(pool.spawn([] { return 1; }).then([](int n) { return n + 1; }).get(), 2);
  EXPECT_EQ(pool.spawn([] { return std::string("a"); }).then([](std::string&& s) { return s + "b"; }).get(),
            "ab");
  EXPECT_EQ(pool.spawn([] {}).then([] { return 3; }).get(), 3);
  EXPECT_EQ(pool.spawn([] { return std::make_unique<int>(4); })
                .then([](std::unique_ptr<int> p) { return *p; })
                .get(),
            4);
  int object = 5;
  auto reference = pool.spawn([&object]() -> int& { return object; }).then([](int& r) -> int& { return r; });
  static_assert(std::same_as<decltype(reference), rubato::future<int&>>);
  EXPECT_EQ(&reference.get(), &object);
  int calls = 0;
  auto nothing = pool.spawn([] { return 6; }).then([&calls](int n) { calls += n; });
  static_assert(std::same_as<decltype(nothing), rubato::future<void>>);
  nothing.get();
  EXPECT_EQ(calls, 6);
}

TEST_P(then, gives_the_future_to_a_callable_that_names_its_type) {
  EXPECT_EQ(
      pool.spawn([] { return 1; }).then([](rubato::future<int> f) { return f.ready() ? f.get() : 0; }).get(),
      1);
  EXPECT_EQ(pool.spawn([] {}).then([](rubato::future<void> f) { return f.ready() ? 2 : 0; }).get(), 2);
  EXPECT_TRUE(
      pool.spawn([] { return 3; }).then([](auto&& x) { return std::same_as<decltype(x), int&&>; }).get());
}

TEST_P(then, gives_a_token_first_if_one_is_taken) {
  EXPECT_EQ(pool.spawn([] { return 1; })
                .then([](std::stop_token t, int n) { return t.stop_possible() ? n : 0; })
                .get(),
            1);
  EXPECT_TRUE(pool.spawn([] {}).then([](std::stop_token t) { return t.stop_possible(); }).get());
  EXPECT_EQ(
      pool.spawn([] { return 2; }).then([](std::stop_token, rubato::future<int> f) { return f.get(); }).get(),
      2);
}

TEST_P(then, prefers_the_value_and_the_token) {
  struct all_four {
    int operator()(std::stop_token, int) { return 1; }
    int operator()(int) { return 2; }
    int operator()(std::stop_token, rubato::future<int>) { return 3; }
    int operator()(rubato::future<int>) { return 4; }
  };
  struct three {
    int operator()(int) { return 2; }
    int operator()(std::stop_token, rubato::future<int>) { return 3; }
    int operator()(rubato::future<int>) { return 4; }
  };
  struct two {
    int operator()(std::stop_token, rubato::future<int>) { return 3; }
    int operator()(rubato::future<int>) { return 4; }
  };
  auto const one = [this] { return pool.spawn([] { return 0; }); };
  EXPECT_EQ(one().then(all_four()).get(), 1);
  EXPECT_EQ(one().then(three()).get(), 2);
  EXPECT_EQ(one().then(two()).get(), 3);
}

TEST_P(then, leaves_the_future_invalid) {
  auto f = pool.spawn([] { return 1; });
  auto g = f.then([](int n) { return n; });
  EXPECT_FALSE(f.valid());
  EXPECT_EQ(rubato_test::outcome_of([&] { auto h = f.then([](int n) { return n; }); }), outcome::no_state);
  EXPECT_EQ(g.get(), 1);
}

TEST_P(then, lets_exceptions_pass_to_a_callable_that_takes_futures) {
  leak_check const none_left;
  std::atomic<int> skipped{0};
  auto f = pool.spawn([]() -> int { throw failure(1); })
               .then([&](int n) { return ++skipped, n; })
               .then([&, captured = counted(1)](int) { ++skipped; })
               .then([&](std::stop_token) { ++skipped; })
               .then([](rubato::future<void> failed) { return failure_of([&] { failed.get(); }); });
  EXPECT_EQ(f.get(), 1);
  EXPECT_EQ(skipped, 0);
  EXPECT_EQ(
      failure_of([&] { pool.spawn([] { return 1; }).then([](int) -> int { throw failure(2); }).get(); }), 2);
  EXPECT_EQ(failure_of([&] {
              pool.spawn([]() -> int { throw failure(3); })
                  .then([](rubato::future<int> g) { return g.get(); })
                  .get();
            }),
            3);
  pool.wait_idle();
}

TEST_P(then, runs_where_the_value_was_made_or_where_it_is_told_to) {
  rubato::pool other(1);
  auto const here = [] { return rubato::current_pool(); };
  EXPECT_EQ(pool.spawn([] {}).then(here).get(), &pool);
  EXPECT_EQ(other.spawn([] {}).then(here).get(), &other);
  EXPECT_EQ(other.spawn([] {}).then(pool, here).get(), &pool);
  EXPECT_EQ(other.spawn([] {}).then(pool, [] {}).then(here).get(), &pool);
  rubato::promise<void> p;
  auto of_promise = p.get_future().then(here);
  other.spawn([&p] { p.set_value(); }).get();
  EXPECT_EQ(of_promise.get(), &other); // where it was set
  EXPECT_EQ(rubato::make_ready_future().then(pool, here).get(), &pool);
  EXPECT_EQ(pool.run([&] { return rubato::make_ready_future().then(here).get(); }), &pool);
  EXPECT_EQ(rubato::make_ready_future().then(here).get(), &rubato::pool::global());
}

TEST_P(then, of_a_promise_set_outside_runs_in_a_pool) {
  rubato::promise<int> p;
  auto f = p.get_future().then(pool, [](int n) { return rubato::current_worker().has_value() ? n : -1; });
  EXPECT_FALSE(f.ready());
  p.set_value(7);
  EXPECT_EQ(f.get(), 7);
}

TEST_P(then, destroys_what_it_captured_when_it_has_run) {
  auto const shared = std::make_shared<int>(1);
  auto f = pool.spawn([] {}).then([shared] { return *shared; });
  f.wait();
  EXPECT_EQ(shared.use_count(), 1);
  EXPECT_EQ(f.get(), 1);
}

TEST_P(then, racing_set_value_runs_once) {
  rubato_test::second_thread setter;
  std::size_t const rounds = scaled(5'000);
  std::atomic<std::size_t> runs{0};
  for (std::size_t i = 0; i != rounds; ++i) {
    rubato::promise<std::size_t> p;
    auto f = p.get_future();
    setter.begin_beside(i, [&p, i] { p.set_value(i); });
    auto g = f.then(pool, [&runs](std::size_t n) { return ++runs, n; });
    setter.wait();
    ASSERT_EQ(g.get(), i);
  }
  EXPECT_EQ(runs, rounds);
}

TEST_P(then, racing_a_task_that_ends_runs_once) {
  std::size_t const rounds = scaled(20'000);
  std::atomic<std::size_t> runs{0};
  for (std::size_t i = 0; i != rounds; ++i) {
    auto f = pool.spawn([i] { return i; });
    rubato_test::delay(static_cast<unsigned>(i * 13 % 300));
    ASSERT_EQ(f.then([&runs](std::size_t n) { return ++runs, n; }).get(), i);
  }
  EXPECT_EQ(runs, rounds);
}

// Chains

class then_chain : public on_workers {
protected:
  std::size_t const length = scaled(1'000'000);
  stack_meter depth;

  rubato::future<std::size_t> lengthen(rubato::future<std::size_t> f) {
    return lengthen(std::move(f), length);
  }
  rubato::future<std::size_t> lengthen(rubato::future<std::size_t> f, std::size_t by) {
    for (std::size_t i = 0; i != by; ++i)
      f = f.then([this](std::size_t n) {
        depth.touch();
        return n + 1;
      });
    return f;
  }
  void expect_flat() const { EXPECT_LT(depth.extent(), std::size_t{64} * 1024); }
};
RUBATO_TEST_WITH_WORKERS(then_chain, all_counts);

TEST_P(then_chain, made_before_the_value) {
  rubato::promise<std::size_t> p;
  auto f = lengthen(p.get_future().then(pool, [](std::size_t n) { return n; }));
  p.set_value(0);
  EXPECT_EQ(f.get(), length);
  expect_flat();
}

TEST_P(then_chain, made_after_the_value) {
  EXPECT_EQ(lengthen(pool.spawn([] { return std::size_t{0}; })).get(), length);
  expect_flat();
}

TEST_P(then_chain, through_which_an_exception_passes) {
  rubato::promise<std::size_t> p;
  auto f = lengthen(p.get_future().then(pool, [](std::size_t n) { return n; }), length / 4); // it is slow
  p.set_exception(failure(1));
  EXPECT_EQ(failure_of([&] { f.get(); }), 1);
}

TEST_P(then_chain, dropped_before_the_value) {
  leak_check const none_left;
  rubato::promise<std::size_t> p;
  {
    auto const f =
        lengthen(p.get_future().then(pool, [c = counted(1)](std::size_t n) { return c.value == 1 ? n : 0; }));
  }
  p.set_value(0);
  pool.wait_idle();
  EXPECT_EQ(depth.extent(), 0U); // nothing has run
}

TEST_P(then_chain, whose_promise_is_broken) {
  std::optional<rubato::promise<std::size_t>> p(std::in_place);
  auto f = lengthen(p->get_future().then(pool, [](std::size_t n) { return n; }), length / 4); // as above
  p.reset();
  EXPECT_EQ(outcome_of_get(f), outcome::broken);
}

TEST_P(then_chain, left_when_its_pool_ends) {
  rubato::promise<std::size_t> p;
  auto f = lengthen(p.get_future().then(pool, [](std::size_t n) { return n; }));
  pool.shutdown(rubato::discard);
  EXPECT_TRUE(f.ready());
  EXPECT_EQ(outcome_of_get(f), outcome::broken);
  p.set_value(0);
}

TEST_P(then_chain, in_which_every_link_returns_a_future) {
  rubato::promise<std::size_t> p;
  auto f = p.get_future().then(pool, [](std::size_t n) { return n; });
  std::size_t const links = length / 10 + 1;
  for (std::size_t i = 0; i != links; ++i)
    f = f.then([](std::size_t n) { return rubato::make_ready_future(n + 1); });
  p.set_value(0);
  EXPECT_EQ(f.get(), links);
}

TEST_P(then_chain, that_grows_from_within) {
  // each continuation attaches the next one to its own result: a loop made of futures
  struct loop {
    static rubato::future<std::size_t> from(rubato::pool& p, std::size_t left) {
      if (left == 0) return rubato::make_ready_future(std::size_t{0});
      return p.spawn([] {}).then([&p, left] { return from(p, left - 1); }).then([](std::size_t n) {
        return n + 1;
      });
    }
  };
  std::size_t const links = length / 20 + 1;
  EXPECT_EQ(loop::from(pool, links).get(), links);
}

TEST(then, regression_arguments_of_continuations_live_as_tasks) {
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

} // namespace
