// Coroutines that wait for each other in a circle: on_stall hears who waits for whom.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pool/process.hpp"
#include "pool/scale.hpp"
#include "pool/waiting.hpp"

namespace {

using namespace pool_test;

using whole = rubato::shared_future<int>;

/// Counts what on_stall is told.
class reports {
  std::mutex mutex_;
  std::vector<rubato::stall_report> all_;

public:
  rubato::pool_options options(unsigned workers) {
    return rubato::pool_options().workers(workers).on_stall([this](rubato::stall_report const& r) {
      std::lock_guard const guard(mutex_);
      all_.push_back(r);
    });
  }
  std::vector<rubato::stall_report> all() {
    std::lock_guard const guard(mutex_);
    return all_;
  }
  bool arrive(std::size_t n) {
    return eventually([&] { return all().size() >= n; });
  }
};

rubato::task<int> waits_for(rubato::future<whole> whom) {
  auto const f = co_await std::move(whom);
  co_return co_await f;
}

rubato::task<int> waits_for_both(rubato::future<whole> whom, whole other) {
  auto const f = co_await std::move(whom);
  auto const both = co_await rubato::when_all(other, f);
  co_return std::get<0>(both) + std::get<1>(both);
}

class circles_of_coroutines : public testing::TestWithParam<unsigned> {
protected:
  reports told;
};

TEST_P(circles_of_coroutines, are_reported_with_all_their_members) {
  for (std::size_t const n : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{12}}) {
    reports now;
    {
      rubato::pool pool(now.options(GetParam()));
      std::vector<rubato::promise<whole>> whom(n);
      std::vector<whole> all;
      for (auto& p : whom) all.push_back(pool.spawn(waits_for(p.get_future())).share());
      for (std::size_t i = 0; i != n; ++i) whom[i].set_value(all[(i + 1) % n]);
      pool.wait_idle();
      ASSERT_TRUE(now.arrive(1));
    }
    ASSERT_EQ(now.all().size(), 1u) << n;
    auto const report = now.all()[0];
    ASSERT_EQ(report.waiters.size(), n);
    for (std::size_t i = 0; i != n; ++i) {
      EXPECT_STREQ(report.waiters[i].waits_in, "co_await");
      // They stand as they wait for each other, the last for the first; in which order does not matter.
      EXPECT_EQ(report.waiters[i].waits_for, report.waiters[(i + n - 1) % n].thread);
    }
  }
}

TEST_P(circles_of_coroutines, are_found_through_gatherings_and_continuations) {
  {
    rubato::pool pool(told.options(GetParam()));
    rubato::promise<int> outside;
    rubato::promise<whole> for_one, for_two;
    auto const one = pool.spawn(waits_for_both(for_one.get_future(), outside.get_future().share())).share();
    auto const two = pool.spawn(waits_for(for_two.get_future())).share();
    for_one.set_value(two);
    for_two.set_value(one.then([](int i) { return i; }).share());
    pool.wait_idle();
    EXPECT_TRUE(told.arrive(1));
    outside.set_exception(std::make_exception_ptr(1));
  }
  ASSERT_EQ(told.all().size(), 1u);
  EXPECT_EQ(told.all()[0].waiters.size(), 2u);
}

TEST_P(circles_of_coroutines, are_none_through_when_any) {
  {
    rubato::pool pool(told.options(GetParam()));
    rubato::promise<int> outside;
    rubato::promise<whole> for_one, for_two;
    auto const waits_for_any = [](rubato::future<whole> whom, whole other) -> rubato::task<int> {
      auto const f = co_await std::move(whom);
      auto const any = co_await rubato::when_any(other, f);
      co_return static_cast<int>(any.index);
    };
    auto const one = pool.spawn(waits_for_any(for_one.get_future(), outside.get_future().share())).share();
    auto const two = pool.spawn(waits_for(for_two.get_future())).share();
    for_one.set_value(two);
    for_two.set_value(one);
    pool.wait_idle();
    outside.set_value(1);
    EXPECT_EQ(two.get(), 0);
  }
  EXPECT_TRUE(told.all().empty());
}

/// Both close the circle at the same time.
TEST_P(circles_of_coroutines, are_reported_once) {
  std::size_t const rounds = scaled(500);
  for (std::size_t round = 0; round != rounds; ++round) {
    reports now;
    {
      rubato::pool pool(now.options(GetParam()));
      rubato::promise<whole> for_one, for_two;
      auto const one = pool.spawn(waits_for(for_one.get_future())).share();
      auto const two = pool.spawn(waits_for(for_two.get_future())).share();
      for_one.set_value(two);
      for_two.set_value(one);
      pool.wait_idle();
      ASSERT_TRUE(now.arrive(1));
    }
    ASSERT_EQ(now.all().size(), 1u);
  }
}

/// A long chain that ends is none, and each of its links costs the same.
TEST_P(circles_of_coroutines, are_not_chains) {
  {
    rubato::pool pool(told.options(GetParam()));
    rubato::promise<whole> first;
    rubato::promise<int> value;
    whole last = pool.spawn(waits_for(first.get_future())).share();
    for (std::size_t i = 0, n = scaled(20'000); i != n; ++i) {
      last =
          pool.spawn([](whole before) -> rubato::task<int> { co_return 1 + co_await before; }(last)).share();
    }
    first.set_value(value.get_future().share());
    pool.wait_idle();
    value.set_value(0);
    EXPECT_EQ(last.get(), static_cast<int>(scaled(20'000)));
  }
  EXPECT_TRUE(told.all().empty());
}

/// While some look at what others wait for, those go on, are stopped, and end.
TEST_P(circles_of_coroutines, are_sought_while_waits_end) {
  rubato::pool pool(told.options(GetParam()));
  for (std::size_t round = 0, n = scaled(5'000); round != n; ++round) {
    rubato::promise<int> value;
    whole const source = value.get_future().share();
    auto const follow = [](whole f) -> rubato::task<int> {
      int const v = co_await f;
      co_await rubato::yield();
      co_return v;
    };
    auto one = pool.spawn(follow(source));
    auto const shared = one.share();
    auto two = pool.spawn(follow(shared));
    auto three = pool.spawn(follow(shared));
    if (round % 3 == 0) two.cancel();
    value.set_value(1);
    if (round % 3 == 1) three.cancel();
    two.wait();
    three.wait();
  }
  EXPECT_TRUE(told.all().empty());
}

/// A closure gets the result of a coroutine that awaits the closure's.
TEST_P(circles_of_coroutines, regression_are_reported_through_a_thread_that_waits) {
  if (GetParam() == 0) return; // there who waits is no thread of the pool's
  {
    rubato::pool pool(told.options(GetParam()));
    rubato::promise<whole> own;
    auto const closure = pool.spawn([&pool, f = own.get_future()]() mutable {
                               auto coroutine = pool.spawn(waits_for(std::move(f)));
                               return coroutine.get();
                             })
                             .share();
    own.set_value(closure);
    EXPECT_TRUE(told.arrive(1));
  }
  auto const all = told.all();
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].waiters.size(), 2u);
  EXPECT_EQ(std::string(all[0].waiters[0].waits_in) + all[0].waiters[1].waits_in,
            all[0].waiters[0].waits_in[0] == 'g' ? "getco_await" : "co_awaitget");
}

/// Two closures and a coroutine, by a continuation.
TEST_P(circles_of_coroutines, regression_are_reported_through_several_threads) {
  if (GetParam() == 0) return;
  {
    rubato::pool pool(told.options(GetParam()));
    rubato::promise<whole> for_one, for_two, for_three;
    auto const gets = [](rubato::future<whole> whom) {
      return [f = std::move(whom)]() mutable { return f.get().get(); };
    };
    auto const one = pool.spawn(gets(for_one.get_future())).share();
    auto const two = pool.spawn(gets(for_two.get_future())).share();
    auto const three = pool.spawn(waits_for(for_three.get_future())).share();
    for_one.set_value(two.then([](int n) { return n; }).share());
    for_two.set_value(three);
    for_three.set_value(one);
    EXPECT_TRUE(told.arrive(1));
  }
  EXPECT_EQ(told.all().size(), 1u);
}

/// What looks like a circle to who reads the links at different times.
TEST_P(circles_of_coroutines, are_none_while_threads_wait_for_coroutines_that_go_on) {
  {
    rubato::pool pool(told.options(GetParam()));
    for (std::size_t round = 0, n = scaled(100); round != n; ++round) {
      std::vector<rubato::future<int>> all;
      for (int i = 0; i != 30; ++i) // each may keep a thread waiting
        all.push_back(pool.spawn([&pool] {
          auto const inner = pool.spawn([]() -> rubato::task<int> {
                                   co_await rubato::yield();
                                   co_return 1;
                                 })
                                 .share();
          auto outer = pool.spawn([](whole f) -> rubato::task<int> { co_return 1 + co_await f; }(inner));
          return outer.get() + inner.then([](int k) { return k; }).get();
        }));
      int sum = 0;
      for (auto& f : all) sum += f.get();
      ASSERT_EQ(sum, 90);
    }
  }
  EXPECT_TRUE(told.all().empty());
}

INSTANTIATE_TEST_SUITE_P(workers, circles_of_coroutines, testing::Values(0u, 1u, 2u, 8u));

} // namespace
