// Coroutines of other libraries await Rubato's futures and tasks.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <coroutine>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/values.hpp"

namespace {

using namespace rubato_test;

/// The coroutine type of a library that knows nothing of pools: it begins at once and destroys itself.
struct stranger {
  struct promise_type {
    static stranger get_return_object() noexcept { return {}; }
    static std::suspend_never initial_suspend() noexcept { return {}; }
    static std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

/// What the strangers bring.
template<class T>
struct outbox {
  rubato::promise<T> result;
  std::atomic<rubato::pool*> resumed_on{nullptr};
};

template<class T, class A>
stranger awaits(A awaitable, outbox<T>& out) {
  try {
    T value = co_await std::move(awaitable);
    out.resumed_on = rubato::current_pool();
    out.result.set_value(std::move(value));
  } catch (...) {
    out.result.set_exception(std::current_exception());
  }
}

class foreign_coroutines : public on_workers {};
RUBATO_TEST_WITH_WORKERS(foreign_coroutines, all_counts);

TEST_P(foreign_coroutines, await_a_future_and_go_on_on_a_worker) {
  rubato::promise<void> gate;
  outbox<std::string> out;
  auto work = gate.get_future().then(pool, [] { return std::string("made"); });
  awaits(std::move(work), out);
  gate.set_value();
  if (GetParam() == 0) pool.wait_idle();
  EXPECT_EQ(out.result.get_future().get(), "made");
  EXPECT_EQ(out.resumed_on, &pool);
}

TEST(foreign_coroutines, do_not_wait_for_what_is_there) {
  outbox<int> out;
  awaits(rubato::make_ready_future(7), out);
  EXPECT_EQ(out.result.get_future().get(), 7);
  EXPECT_EQ(out.resumed_on, rubato::current_pool());
}

TEST_P(foreign_coroutines, get_the_exception) {
  outbox<int> out;
  awaits(pool.spawn([]() -> int { throw failure(4); }), out);
  if (GetParam() == 0) pool.wait_idle();
  EXPECT_EQ(failure_of([&] { out.result.get_future().get(); }), 4);
}

TEST_P(foreign_coroutines, share_a_future) {
  auto const shared = pool.spawn([] { return 5; }).share();
  std::vector<std::unique_ptr<outbox<int>>> all;
  for (int i = 0; i != 100; ++i) {
    all.push_back(std::make_unique<outbox<int>>());
    awaits(shared, *all.back());
  }
  if (GetParam() == 0) pool.wait_idle();
  for (auto& out : all) EXPECT_EQ(out->result.get_future().get(), 5);
}

rubato::task<counted> makes(int value) {
  co_await rubato::yield();
  co_return counted(value);
}

TEST_P(foreign_coroutines, await_a_task_on_the_current_pool) {
  leak_check const none_left;
  outbox<counted> out;
  auto begun = pool.spawn([&] { awaits(makes(6), out); });
  begun.get();
  if (GetParam() == 0) pool.wait_idle();
  EXPECT_EQ(out.result.get_future().get().value, 6);
  EXPECT_EQ(out.resumed_on, &pool);
  pool.wait_idle();
}

TEST_P(foreign_coroutines, are_never_resumed_inside_set_value) {
  rubato::promise<int> p;
  outbox<int> out;
  awaits(p.get_future(), out);
  auto done = pool.spawn([&] {
    p.set_value(1);
    return out.resumed_on.load() == nullptr || GetParam() > 1; // another worker may be quick
  });
  EXPECT_TRUE(done.get());
  if (GetParam() == 0) pool.wait_idle();
  EXPECT_EQ(out.result.get_future().get(), 1);
}

TEST_P(foreign_coroutines, may_be_resumed_while_they_are_suspending) {
  for (std::size_t i = 0; i != scaled(2'000); ++i) {
    outbox<std::size_t> out;
    awaits(pool.spawn([i] { return i; }), out);
    if (GetParam() == 0) pool.wait_idle();
    ASSERT_EQ(out.result.get_future().get(), i);
  }
}

TEST(foreign_coroutine, is_resumed_by_a_pool_that_discards_work) {
  outbox<int> out;
  {
    rubato::pool pool(rubato::no_workers);
    awaits(pool.spawn([]() -> int { return 1; }), out);
    pool.shutdown(rubato::discard);
  }
  EXPECT_THROW(out.result.get_future().get(), std::future_error);
}

TEST(foreign_coroutine, of_a_future_without_a_state_is_told) {
  outbox<int> out;
  awaits(rubato::future<int>(), out);
  EXPECT_THROW(out.result.get_future().get(), std::future_error);
}

} // namespace
