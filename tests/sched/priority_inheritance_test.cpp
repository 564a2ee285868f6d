// A task keeps its priority wherever it continues; what it starts does not get it.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "support/hang_guard.hpp"
#include "support/priority_log.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;
using rubato::priority;

constexpr std::size_t at(priority c) { return static_cast<std::size_t>(c); }

/// What the pool has queued, by priority, when all of `wanted` is there: the worker is held.
void expect_queued(rubato::pool& pool, priority c, std::size_t wanted = 1) {
  EXPECT_TRUE(eventually([&] { return pool.stats().of(c).queued == wanted; }))
      << "priority " << at(c) << ": " << pool.stats().of(c).queued << " of " << pool.stats().queued;
  EXPECT_EQ(pool.pending(), wanted);
}

class inheritance : public testing::TestWithParam<priority> {
protected:
  rubato_test::hang_guard guard;
  rubato::pool pool{alone(1)};
};
INSTANTIATE_TEST_SUITE_P(classes, inheritance,
                         testing::Values(priority::high, priority::normal, priority::low));

TEST_P(inheritance, of_continuations) {
  rubato::future<int> source = pool.spawn(GetParam(), [] { return 1; });
  source.wait();
  rubato::future<int> last;
  {
    held_workers held(pool);
    last = std::move(source).then([](int n) { return n + 1; });
    expect_queued(pool, GetParam());
  }
  EXPECT_EQ(last.get(), 2);
}

TEST_P(inheritance, of_continuations_that_wait) {
  rubato_test::gate open;
  task_log log;
  rubato::pool two(alone(2));
  rubato::future<void> source = two.spawn(GetParam(), [&] { static_cast<void>(open.wait()); });
  rubato::future<void> last = std::move(source).then([&] { log.add("then"); }).then([&] { log.add("then"); });
  open.open();
  last.get();
  EXPECT_TRUE(two.wait_idle());
  auto const after = two.stats();
  if (GetParam() != priority::normal) {
    EXPECT_EQ(after.of(GetParam()).executed, 3u);
  }
  EXPECT_EQ(log.size(), 2u);
}

TEST_P(inheritance, of_continuations_on_a_named_pool) {
  rubato::pool other(alone(1));
  rubato::future<int> source = pool.spawn(GetParam(), [] { return 1; });
  source.wait();
  rubato::future<int> last;
  {
    held_workers held(other);
    last = std::move(source).then(other, [](int n) { return n + 1; });
    expect_queued(other, GetParam());
  }
  EXPECT_EQ(last.get(), 2);
}

/// Spawns a coroutine that waits, has it resumed while the worker is held, and looks where it is queued.
template<class Wait>
void expect_resumption_in_priority(rubato::pool& pool, priority c, Wait wait,
                                   std::function<void()> const& resume) {
  std::atomic<bool> waits = false;
  auto body = [](Wait w, std::atomic<bool>& flag) -> rubato::task<int> {
    flag = true;
    auto awaited = w();
    co_await std::move(awaited);
    co_return 1;
  };
  rubato::future<int> f = pool.spawn(c, body(std::move(wait), waits));
  ASSERT_TRUE(eventually([&] { return waits.load(); }));
  {
    held_workers held(pool); // it begins behind the coroutine's first part
    resume();
    expect_queued(pool, c);
  }
  EXPECT_EQ(f.get(), 1);
}

TEST_P(inheritance, of_resumptions_after_a_future) {
  rubato::promise<void> p;
  rubato::shared_future<void> f = p.get_future().share();
  expect_resumption_in_priority(pool, GetParam(), [f] { return f; }, [&] { p.set_value(); });
}

TEST_P(inheritance, of_resumptions_after_a_sleep) {
  auto const due = std::chrono::steady_clock::now() + 50ms;
  expect_resumption_in_priority(pool, GetParam(), [due] { return rubato::sleep_until(due); }, [] {});
}

TEST_P(inheritance, of_resumptions_after_a_receive) {
  rubato::channel<int> c(1);
  expect_resumption_in_priority(
      pool, GetParam(), [&c] { return c.receive(); }, [&] { EXPECT_TRUE(c.try_send(1)); });
}

TEST_P(inheritance, of_resumptions_after_a_send) {
  rubato::channel<int> c(0);
  int const sent = 1; // outlives the operation, which refers to it
  expect_resumption_in_priority(
      pool, GetParam(), [&c, &sent] { return c.send(sent); },
      [&] { EXPECT_TRUE(c.try_receive().has_value()); });
}

TEST_P(inheritance, of_resumptions_after_a_lock) {
  rubato::async_mutex m;
  ASSERT_TRUE(m.try_acquire());
  expect_resumption_in_priority(pool, GetParam(), [&m] { return m.acquire(); }, [&] { m.release(); });
  m.release();
}

TEST_P(inheritance, of_resumptions_after_a_semaphore_and_a_latch) {
  rubato::async_semaphore s(0);
  expect_resumption_in_priority(pool, GetParam(), [&s] { return s.acquire(); }, [&] { s.release(1); });
  rubato::async_latch l(1);
  expect_resumption_in_priority(pool, GetParam(), [&l] { return l.wait(); }, [&] { l.count_down(); });
}

TEST_P(inheritance, of_resumptions_after_an_event) {
  rubato::event e;
  expect_resumption_in_priority(pool, GetParam(), [&e] { return e.wait(); }, [&] { e.set(); });
}

TEST_P(inheritance, of_resumptions_after_a_descriptor_is_readable) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  expect_resumption_in_priority(
      pool, GetParam(), [&] { return rubato::readable(ends[0]); },
      [&] { EXPECT_EQ(write(ends[1], "x", 1), 1); });
  rubato::forget(ends[0]);
  close(ends[0]);
  close(ends[1]);
}

TEST_P(inheritance, of_resumptions_after_a_race) {
  rubato::channel<int> a(1), b(1);
  expect_resumption_in_priority(
      pool, GetParam(), [&] { return rubato::select(a.receiving([](auto) {}), b.receiving([](auto) {})); },
      [&] { EXPECT_TRUE(b.try_send(1)); });
}

TEST_P(inheritance, of_resumptions_after_a_yield) {
  std::atomic<int> turns = 0;
  auto body = [](std::atomic<int>& n) -> rubato::task<void> {
    for (int i = 0; i != 10; ++i) {
      ++n;
      co_await rubato::yield();
    }
  };
  pool.spawn(GetParam(), body(turns)).get();
  EXPECT_TRUE(pool.wait_idle());
  if (GetParam() != priority::normal) {
    EXPECT_GE(pool.stats().of(GetParam()).executed, 10u); // the first turn may be a waiter's
  }
  EXPECT_EQ(turns, 10);
}

TEST_P(inheritance, of_the_move_to_another_pool) {
  rubato::pool other(alone(1));
  std::atomic<bool> there = false;
  auto body = [](rubato::pool& to, std::atomic<bool>& flag) -> rubato::task<void> {
    co_await rubato::resume_on(to);
    flag = true;
  };
  {
    held_workers held(other);
    pool.spawn(GetParam(), body(other, there)).detach();
    expect_queued(other, GetParam());
  }
  EXPECT_TRUE(eventually([&] { return there.load(); }));
}

/// What a coroutine awaits together is a part of it: queued, when the coroutine is suspended.
TEST_P(inheritance, of_tasks_that_are_awaited_together) {
  rubato::pool none(rubato::no_workers); // there they are always queued
  std::atomic<int> ran = 0;
  auto part = [](std::atomic<int>& n) -> rubato::task<void> {
    co_await rubato::yield();
    ++n;
  };
  auto body = [&part](std::atomic<int>& n) -> rubato::task<void> {
    auto all = rubato::when_all(part(n), part(n), part(n));
    co_await std::move(all);
  };
  none.spawn(GetParam(), body(ran)).detach();
  EXPECT_TRUE(none.wait_idle());
  EXPECT_EQ(ran, 3);
  if (GetParam() != priority::normal) {
    EXPECT_EQ(none.stats().of(GetParam()).executed, none.stats().executed);
  }
}

TEST_P(inheritance, by_nothing_that_a_task_starts) {
  std::atomic<int> ran = 0;
  {
    held_workers held(pool);
    pool.enqueue(GetParam(), [&] {
      pool.enqueue([&] { ++ran; });
      pool.spawn([&] { ++ran; }).detach();
      rubato::enqueue([&] { ++ran; });
      rubato::task_group group;
      group.spawn([&] { ++ran; });
      group.wait();
    });
  }
  EXPECT_TRUE(eventually([&] { return ran == 4; }));
  EXPECT_TRUE(pool.wait_idle());
  if (GetParam() != priority::normal) {
    EXPECT_EQ(pool.stats().of(GetParam()).executed, 1u);
  }
}

TEST_P(inheritance, by_nothing_that_continues_a_promise) {
  rubato::promise<int> p;
  rubato::future<int> f = p.get_future().then(pool, [](int n) { return n; });
  {
    held_workers held(pool);
    pool.enqueue(GetParam(), [&] {});
    p.set_value(3);
    EXPECT_TRUE(eventually([&] { return pool.stats().of(priority::normal).queued >= 1; }));
  }
  EXPECT_EQ(f.get(), 3);
}

TEST_P(inheritance, of_a_childs_class_in_a_scope) {
  task_log log;
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn(GetParam(), [&] { log.add("closure"); });
      auto coroutine = [](task_log& l) -> rubato::task<void> {
        co_await rubato::yield();
        l.add("task");
      };
      s.spawn(GetParam(), coroutine(log));
      s.spawn(GetParam(), [&log, coroutine] { return coroutine(log); });
    });
    EXPECT_EQ(log.size(), 3u);
  });
}

TEST_P(inheritance, of_a_childs_class_in_a_group) {
  {
    rubato::task_group group(pool);
    held_workers held(pool);
    std::atomic<int> ran = 0;
    for (int i = 0; i != 3; ++i) group.spawn(GetParam(), [&] { ++ran; });
    if (GetParam() != priority::normal) expect_queued(pool, GetParam(), 3);
    held.open();
    group.wait();
    EXPECT_EQ(ran, 3);
  }
  EXPECT_THROW(
      {
        rubato::task_group group(pool);
        group.spawn(GetParam(), [] { throw 7; });
        group.wait();
      },
      int);
}

} // namespace
