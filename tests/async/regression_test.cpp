// Defects that were found by reading, each with what shows it.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <tuple>
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

rubato::task<void> receives(rubato::channel<int>& from) {
  for (bool more = true; more;) {
    auto const got = co_await from.receive();
    more = got.has_value();
  }
}

TEST(regression_async, a_pool_that_ends_drops_a_coroutine_after_the_members_of_its_scope) {
  for (int round = 0; round != 20; ++round) {
    rubato::channel<int> never_sent(0);
    rubato::pool pool(2);
    auto f = pool.spawn(rubato::with_async_scope(
        [](rubato::scope& s, rubato::channel<int>* ch) -> rubato::task<> {
          for (int i = 0; i != 20; ++i) s.spawn(receives(*ch));
          co_await ch->receive();
        },
        &never_sent));
    if (round % 2 != 0) pool.wait_idle();
    pool.shutdown(rubato::drain);
    EXPECT_TRUE(f.ready());
  }
}

rubato::task<void> yields(int times) {
  for (int i = 0; i != times; ++i) co_await rubato::yield();
}

TEST(regression_async, a_coroutine_is_discarded_after_its_children) {
  auto const for_ever = []() -> rubato::task<> {
    for (;;) {
      static_cast<void>(co_await rubato::with_deadline(yields(5), 100s));
      static_cast<void>(co_await rubato::when_all(yields(3), yields(4), yields(5)));
      static_cast<void>(co_await rubato::when_any(yields(3), yields(4)));
      co_await rubato::with_async_scope([](rubato::scope& s) -> rubato::task<> {
        s.spawn(yields(2));
        s.spawn([] {});
        co_await rubato::yield();
      });
    }
  };
  for (int round = 0; round != 30; ++round) {
    rubato::pool pool(1U + static_cast<unsigned>(round) % 3);
    std::vector<rubato::future<void>> all;
    for (int i = 0; i != 10; ++i) all.push_back(pool.spawn(for_ever()));
    all.front().wait_for(std::chrono::microseconds(100 * round));
    pool.shutdown(rubato::discard);
    for (auto& f : all) EXPECT_TRUE(f.ready());
  }
}

TEST(regression_async, a_claimed_coroutine_that_has_moved_goes_on_where_it_is) {
  rubato::pool there(1);
  rubato::pool here(rubato::pool_options().workers(1).spares(0));
  auto was_there = here.spawn([&] {
    auto const moves = [&]() -> rubato::task<bool> {
      co_await rubato::resume_on(there);
      co_await rubato::sleep_for(5ms);
      co_return rubato::current_pool() == &there;
    };
    return rubato::spawn(moves()).get(); // claimed, while this is the only thread that could pop its entry
  });
  EXPECT_TRUE(was_there.get());
}

TEST(regression_async, a_stop_of_a_scope_reaches_the_future_that_a_member_has_returned) {
  rubato::pool pool(2);
  auto const work = [] {
    rubato::with_scope([](rubato::scope& s) {
      s.spawn([] { return rubato::spawn([]() -> rubato::task<> { co_await rubato::sleep_for(1000s); }()); });
      s.spawn([]() -> rubato::task<> {
        co_await rubato::sleep_for(5ms);
        throw failure(3);
      });
    });
  };
  EXPECT_EQ(failure_of([&] { pool.run(work); }), 3);
}

TEST(regression_async, what_a_stop_callback_completes_may_go_at_once) {
  rubato::pool pool(2);
  for (int round = 0; round != 100; ++round) {
    rubato::promise<void> p;
    std::atomic<bool> begun{false};
    auto const body = [&](rubato::scope& s) {
      s.spawn([&](std::stop_token t) {
        auto whole = p.get_future();
        auto const breaks = std::make_shared<std::stop_callback<std::function<void()>>>(
            t, std::function<void()>([&] { p.set_exception(failure(2)); }));
        begun = true;
        return std::move(whole).then([breaks](rubato::future<void> f) { f.get(); });
      });
      while (!begun) std::this_thread::yield();
      throw failure(1);
    };
    EXPECT_EQ(failure_of([&] { pool.run([&] { rubato::with_scope(body); }); }), 1);
  }
}

TEST(regression_async, get_after_shutdown_drives_the_pool_itself) {
  rubato::pool pool(1);
  auto const before = pool.spawn([] { return 1; }).share();
  pool.shutdown();
  EXPECT_EQ(before.get(), 1);
  EXPECT_EQ(before.then([](int const& v) { return v + 1; }).get(), 2);
  EXPECT_EQ(pool.spawn([] { return 3; }).get(), 3);
}

TEST(regression_async, who_drives_a_closed_pool_lets_it_be_destroyed) {
  rubato::promise<int> p;
  auto pool = std::make_unique<rubato::pool>(1);
  pool->shutdown();
  std::atomic<bool> drives{false};
  std::thread waits([&] {
    auto whole = pool->spawn([&] {
      drives = true;
      return p.get_future();
    });
    EXPECT_EQ(whole.get(), 4);
  });
  while (!drives) std::this_thread::yield();
  pool.reset();
  p.set_value(4);
  waits.join();
}

TEST(regression_async, a_result_from_several_pools_without_workers_is_there_when_one_waits) {
  rubato::pool first(rubato::no_workers);
  rubato::pool second(rubato::no_workers);
  rubato::pool third(1);
  EXPECT_EQ(first.spawn([] { return 1; }).then(third, [](int v) { return v + 1; }).get(), 2);
  EXPECT_EQ(first.spawn([] { return 1; }).then(second, [](int v) { return v + 1; }).get(), 2);
  auto const [a, b] = rubato::when_all(first.spawn([] { return 1; }), second.spawn([] { return 2; })).get();
  EXPECT_EQ(a + b, 3);
  auto inside = third.spawn(
      [&] { return rubato::when_all(first.spawn([] { return 1; }), second.spawn([] { return 2; })).get(); });
  EXPECT_EQ(std::get<1>(inside.get()), 2);
}

TEST(regression_async, waiters_without_workers_claim_what_they_wait_for_and_do_not_nest) {
  // Each would run the next one in its own wait: the stack of ten thousand waits in a debug build.
  rubato::pool pool(rubato::no_workers);
  std::vector<rubato::future<int>> waiters;
  for (int i = 0; i != 20'000; ++i)
    waiters.push_back(pool.spawn([&pool, i] { return pool.spawn([i] { return i; }).get(); }));
  for (int i = 0; i != 20'000; ++i) ASSERT_EQ(waiters[static_cast<std::size_t>(i)].get(), i);
}

rubato::task<void> nested(std::size_t depth, rubato::shared_future<void> f) {
  if (depth == 0)
    co_await f;
  else
    co_await nested(depth - 1, f);
}

TEST(regression_async, a_suspended_recursion_of_any_depth_is_destroyed_without_a_deep_stack) {
  rubato::promise<void> never;
  rubato::future<void> f;
  {
    rubato::pool pool(1);
    f = pool.spawn(nested(rubato_test::scaled(200'000), never.get_future().share()));
    pool.wait_idle();
  }
  EXPECT_THROW(f.get(), std::future_error);
}

} // namespace
