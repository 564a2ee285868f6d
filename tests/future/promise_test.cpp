// promise: kept, broken, moved and misused.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/second_thread.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

/// The code of the std::future_error that f() throws.
template<class F>
std::optional<std::future_errc> misuse_of(F&& f) {
  try {
    f();
  } catch (std::future_error const& e) {
    return static_cast<std::future_errc>(e.code().value());
  }
  return std::nullopt;
}

class promises : public on_workers {};
RUBATO_TEST_WITH_WORKERS(promises, all_counts);

TEST(promises, bring_values_of_any_kind) {
  rubato::promise<int> number;
  auto f = number.get_future();
  EXPECT_FALSE(f.ready());
  number.set_value(1);
  EXPECT_TRUE(f.ready());
  EXPECT_EQ(f.get(), 1);
  rubato::promise<void> nothing;
  nothing.set_value();
  nothing.get_future().get();
  int object = 0;
  rubato::promise<int&> reference;
  reference.set_value(object);
  EXPECT_EQ(&reference.get_future().get(), &object);
  rubato::promise<std::unique_ptr<int>> pointer;
  pointer.set_value(std::make_unique<int>(2));
  EXPECT_EQ(*pointer.get_future().get(), 2);
  rubato::promise<std::string> converted;
  converted.set_value("text");
  EXPECT_EQ(converted.get_future().get(), "text");
  rubato::promise<only_constructible> awkward;
  awkward.set_value(only_constructible(3));
  EXPECT_EQ(awkward.get_future().get().value, 3);
}

TEST(promises, bring_exceptions) {
  rubato::promise<int> direct;
  direct.set_exception(failure(1));
  EXPECT_EQ(failure_of([f = direct.get_future()]() mutable { f.get(); }), 1);
  rubato::promise<int> pointer;
  pointer.set_exception(std::make_exception_ptr(failure(2)));
  EXPECT_EQ(failure_of([f = pointer.get_future()]() mutable { f.get(); }), 2);
  EXPECT_EQ(failure_of([] { rubato::make_exceptional_future<int&>(failure(3)).get(); }), 3);
  EXPECT_EQ(failure_of([] { rubato::make_exceptional_future<void>(failure(4)).get(); }), 4);
}

TEST_P(promises, broken_wake_every_kind_of_waiter) {
  using broken_promise = std::optional<rubato::promise<int>>;
  auto const make = [] { return std::make_shared<broken_promise>(std::in_place); };

  auto for_thread = make();
  std::thread outside(
      [f = (*for_thread)->get_future()]() mutable { EXPECT_EQ(outcome_of_get(f), outcome::broken); });
  auto for_timed = make();
  std::thread timed([f = (*for_timed)->get_future()]() mutable {
    EXPECT_TRUE(f.wait_for(rubato_test::bound));
    EXPECT_EQ(outcome_of_get(f), outcome::broken);
  });
  auto for_task = make();
  auto task = pool.spawn([f = (*for_task)->get_future()]() mutable { return outcome_of_get(f); });
  auto for_coroutine = make();
  auto coroutine = pool.spawn([f = (*for_coroutine)->get_future()]() mutable -> rubato::task<int> {
    co_return co_await std::move(f);
  });
  auto for_value = make();
  auto value = (*for_value)->get_future().then(pool, [](int n) { return n; });
  auto for_future = make();
  auto whole =
      (*for_future)->get_future().then(pool, [](rubato::future<int> f) { return outcome_of_get(f); });
  auto for_all = make();
  auto all = rubato::when_all((*for_all)->get_future(), pool.spawn([] { return 1; }));
  auto for_any = make();
  auto any = rubato::when_any((*for_any)->get_future(), rubato::make_exceptional_future<int>(failure(1)));
  auto for_shared = make();
  auto shared = (*for_shared)->get_future().share();
  auto for_inner = make();
  auto flat = pool.spawn([f = (*for_inner)->get_future()]() mutable { return std::move(f); });
  auto for_submitted = make();
  auto submitted = pool.submit([f = (*for_submitted)->get_future()]() mutable { return std::move(f); });

  if (pool.size() == 0) {
    // the task that waits would keep the one thread that drives the pool
    for_task->reset();
  }
  for (auto const& p : {for_thread, for_timed, for_coroutine, for_value, for_future, for_all, for_any,
                        for_shared, for_inner, for_submitted, for_task})
    p->reset();
  outside.join();
  timed.join();
  EXPECT_EQ(task.get(), outcome::broken);
  EXPECT_EQ(outcome_of_get(coroutine), outcome::broken);
  EXPECT_EQ(outcome_of_get(value), outcome::broken);
  EXPECT_EQ(whole.get(), outcome::broken);
  EXPECT_EQ(outcome_of_get(all), outcome::broken);
  EXPECT_EQ(outcome_of_get(any), outcome::broken); // the last failure in time
  EXPECT_EQ(outcome_of_get(shared), outcome::broken);
  EXPECT_EQ(outcome_of_get(shared), outcome::broken);
  EXPECT_EQ(outcome_of_get(flat), outcome::broken);
  if (pool.size() == 0) pool.wait_idle();
  EXPECT_EQ(misuse_of([&] { submitted.get(); }), std::future_errc::broken_promise);
}

TEST(promises, are_broken_by_assignment) {
  rubato::promise<int> p;
  auto f = p.get_future();
  p = rubato::promise<int>();
  EXPECT_EQ(outcome_of_get(f), outcome::broken);
  auto g = p.get_future();
  rubato::promise<int>& self = p;
  p = std::move(self); // harmless
  p.set_value(1);
  EXPECT_EQ(g.get(), 1);
}

TEST(promises, moved_from_are_good_for_nothing) {
  rubato::promise<int> p;
  auto f = p.get_future();
  rubato::promise<int> owner = std::move(p);
  EXPECT_EQ(misuse_of([&] { p.set_value(1); }), std::future_errc::no_state);
  EXPECT_EQ(misuse_of([&] { p.set_exception(failure(1)); }), std::future_errc::no_state);
  EXPECT_EQ(misuse_of([&] { auto g = p.get_future(); }), std::future_errc::no_state);
  EXPECT_FALSE(f.ready());
  owner.set_value(2);
  EXPECT_EQ(f.get(), 2);
  EXPECT_EQ(misuse_of([&] { f.wait(); }), std::future_errc::no_state);
}

TEST(promises, are_kept_once_and_asked_for_their_future_once) {
  rubato::promise<int> p;
  auto f = p.get_future();
  EXPECT_EQ(misuse_of([&] { auto g = p.get_future(); }), std::future_errc::future_already_retrieved);
  p.set_value(1);
  EXPECT_EQ(misuse_of([&] { p.set_value(2); }), std::future_errc::promise_already_satisfied);
  EXPECT_EQ(misuse_of([&] { p.set_exception(failure(2)); }), std::future_errc::promise_already_satisfied);
  rubato::promise<int> moved = std::move(p);
  EXPECT_EQ(misuse_of([&] { moved.set_value(3); }), std::future_errc::promise_already_satisfied);
  EXPECT_EQ(misuse_of([&] { auto g = moved.get_future(); }), std::future_errc::future_already_retrieved);
  EXPECT_EQ(f.get(), 1);
}

/// Its k-th copy or move throws.
struct throws_in_time : counted {
  int left;
  explicit throws_in_time(int k)
      : counted(1)
      , left(k) {}
  throws_in_time(throws_in_time&& other)
      : counted(other.value)
      , left(other.left - 1) {
    if (left == 0) throw failure(9);
  }
};

TEST(promises, can_be_kept_after_a_value_that_could_not_be_moved) {
  leak_check const none_left;
  rubato::promise<throws_in_time> p;
  auto f = p.get_future();
  EXPECT_EQ(failure_of([&] { p.set_value(throws_in_time(1)); }), 9);
  EXPECT_FALSE(f.ready());
  p.set_value(throws_in_time(100));
  EXPECT_EQ(f.get().value, 1);
}

TEST_P(promises, get_throws_what_moving_the_value_throws) {
  leak_check const none_left;
  for (int k = 2; k != 5; ++k) {
    rubato::promise<throws_in_time> p;
    auto f = p.get_future();
    p.set_value(throws_in_time(k));
    auto g = f.then(pool, [](throws_in_time t) { return t; });
    EXPECT_EQ(failure_of([&] { static_cast<void>(g.get()); }), 9) << k;
  }
  pool.wait_idle();
}

TEST(promises, and_futures_may_be_dropped_in_any_order) {
  leak_check const none_left;
  {
    rubato::promise<counted> const never_asked;
  }
  {
    rubato::promise<counted> p;
    p.set_value(counted(1)); // no future wants it
  }
  {
    rubato::promise<counted> p;
    {
      auto const f = p.get_future();
    }
    p.set_value(counted(2)); // too late
  }
  {
    rubato::future<counted> f;
    {
      rubato::promise<counted> p;
      f = p.get_future();
      p.set_value(counted(3));
    }
    EXPECT_EQ(f.get().value, 3);
  }
  {
    rubato::promise<counted> p;
    p.get_future().detach();
    p.set_exception(counted_error(4));
  }
}

TEST_P(promises, racing_get_in_every_way) {
  rubato_test::second_thread setter;
  std::size_t const rounds = scaled(4'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    std::optional<rubato::promise<std::size_t>> p(std::in_place);
    auto f = p->get_future();
    bool const broken = i % 3 == 0;
    setter.begin_beside(i, [&p, i, broken] {
      if (broken)
        p.reset();
      else
        p->set_value(i);
    });
    auto const get = [&f] {
      try {
        return f.get();
      } catch (std::future_error const&) {
        return ~std::size_t{0};
      }
    };
    std::size_t const got = i % 2 == 0 ? get() : pool.run(get);
    ASSERT_EQ(got, broken ? ~std::size_t{0} : i);
    setter.wait();
  }
}

TEST(promises, racing_a_future_that_is_dropped) {
  hang_guard const guard;
  leak_check const none_left;
  rubato_test::second_thread setter;
  std::size_t const rounds = scaled(4'000);
  for (std::size_t i = 0; i != rounds; ++i) {
    rubato::promise<counted> p;
    auto f = p.get_future();
    setter.begin_beside(i, [&p] { p.set_value(counted(1)); });
    f = rubato::future<counted>();
    setter.wait();
  }
}

TEST(promise, regression_refuses_an_empty_exception_pointer) {
  rubato::promise<int> p;
  EXPECT_THROW(p.set_exception(std::exception_ptr()), std::invalid_argument);
  p.set_value(3);
  EXPECT_EQ(p.get_future().get(), 3);
}

} // namespace
