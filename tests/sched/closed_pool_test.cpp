// A pool that was shut down refuses new work until resize(n): each kind of work, by each kind of thread.
#include <gtest/gtest.h>

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "support/counting.hpp"
#include "support/hang_guard.hpp"
#include "support/scale.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;
using rubato::cancelled;
using rubato::task;

/// A callable that shows whether it was moved from, and counts its calls.
struct work {
  std::unique_ptr<std::atomic<int>*> ran;
  explicit work(std::atomic<int>& n)
      : ran(std::make_unique<std::atomic<int>*>(&n)) {}
  void operator()() const { ++**ran; }
};
struct bulk_work : work {
  using work::work;
  void operator()(std::size_t) const { ++**ran; }
};

/// How an attempt to queue work has ended.
enum class ended : unsigned char { accepted, refused, touched, other };

template<class Work = work, class F>
ended attempt(std::atomic<int>& ran, F queue) {
  Work w(ran);
  auto const* const before = w.ran.get();
  bool refused = false;
  try {
    refused = !queue(std::move(w));
  } catch (cancelled const&) {
    refused = true;
  } catch (...) {
    return ended::other;
  }
  if (!refused) return ended::accepted;
  return w.ran.get() == before ? ended::refused : ended::touched;
}

/// One kind of work.
struct kind {
  char const* name;
  ended (*queue)(rubato::pool& p, rubato::strand& s, std::atomic<int>& ran);
};

/// Routines that were posted. They are destroyed after the pools have ended, which may have dropped some.
std::mutex posted_mutex;
std::deque<rubato::routine> posted;

template<class F>
ended post(rubato::pool& p, std::atomic<int>& ran, F how) {
  auto const add = [&]() -> rubato::routine& {
    std::lock_guard const lock(posted_mutex);
    return posted.emplace_back([&ran](rubato::routine&) { ++ran; });
  };
  try {
    how(add(), p);
  } catch (cancelled const&) {
    return ended::refused;
  }
  return ended::accepted;
}

kind const kinds[] = {
    {"enqueue",
     [](rubato::pool& p, rubato::strand&, std::atomic<int>& n) {
       return attempt(n, [&](work&& w) { return p.enqueue(std::move(w)), true; });
     }},
    {"enqueue with a priority",
     [](rubato::pool& p, rubato::strand&, std::atomic<int>& n) {
       return attempt(n, [&](work&& w) { return p.enqueue(rubato::priority::high, std::move(w)), true; });
     }},
    {"try_enqueue",
     [](rubato::pool& p, rubato::strand&, std::atomic<int>& n) {
       return attempt(n, [&](work&& w) { return p.try_enqueue(std::move(w)); });
     }},
    {"enqueue_bulk",
     [](rubato::pool& p, rubato::strand&, std::atomic<int>& n) {
       return attempt<bulk_work>(n, [&](bulk_work&& w) { return p.enqueue_bulk(1, std::move(w)), true; });
     }},
    {"spawn",
     [](rubato::pool& p, rubato::strand&, std::atomic<int>& n) {
       return attempt(n, [&](work&& w) { return p.spawn(std::move(w)).detach(), true; });
     }},
    {"spawn with a priority",
     [](rubato::pool& p, rubato::strand&, std::atomic<int>& n) {
       return attempt(n,
                      [&](work&& w) { return p.spawn(rubato::priority::low, std::move(w)).detach(), true; });
     }},
    {"submit",
     [](rubato::pool& p, rubato::strand&, std::atomic<int>& n) {
       return attempt(n, [&](work&& w) { return static_cast<void>(p.submit(std::move(w))), true; });
     }},
    {"enqueue_after",
     [](rubato::pool& p, rubato::strand&, std::atomic<int>& n) {
       return attempt(n,
                      [&](work&& w) { return static_cast<void>(p.enqueue_after(0s, std::move(w))), true; });
     }},
    {"enqueue_at",
     [](rubato::pool& p, rubato::strand&, std::atomic<int>& n) {
       return attempt(n, [&](work&& w) {
         return static_cast<void>(p.enqueue_at(std::chrono::steady_clock::now(), std::move(w))), true;
       });
     }},
    {"a strand's enqueue",
     [](rubato::pool&, rubato::strand& s, std::atomic<int>& n) {
       return attempt(n, [&](work&& w) { return s.enqueue(std::move(w)), true; });
     }},
    {"a strand's spawn",
     [](rubato::pool&, rubato::strand& s, std::atomic<int>& n) {
       return attempt(n, [&](work&& w) { return s.spawn(std::move(w)).detach(), true; });
     }},
    {"routine::post",
     [](rubato::pool& p, rubato::strand&, std::atomic<int>& n) {
       return post(p, n, [](rubato::routine& r, rubato::pool& to) { r.post(to); });
     }},
    {"routine::post_after",
     [](rubato::pool& p, rubato::strand&, std::atomic<int>& n) {
       return post(p, n, [](rubato::routine& r, rubato::pool& to) { r.post_after(to, 1us); });
     }},
};

/// Each kind, once. `from`: for messages.
void expect_all(ended expected, rubato::pool& p, rubato::strand& s, std::atomic<int>& ran, char const* from) {
  for (kind const& k : kinds) EXPECT_EQ(k.queue(p, s, ran), expected) << k.name << ", " << from;
}

/// Calls f in a continuation of a closed pool, which the caller drives.
template<class F>
void in_driven_task(rubato::pool& closed, F f) {
  rubato::promise<void> ready;
  auto driven = ready.get_future().then(closed, std::move(f));
  ready.set_value();
  driven.get();
}

/// A pool that was closed in this way, with so many workers before.
class regression_closed : public testing::TestWithParam<unsigned> {
protected:
  hang_guard guard;
  rubato::pool pool{with_workers(GetParam())};
  rubato::pool other{2};
  rubato::strand strand{pool};
  std::atomic<int> ran{0};

  void TearDown() override {
    pool.shutdown(rubato::discard);
    posted.clear();
  }
};
INSTANTIATE_TEST_SUITE_P(workers, regression_closed, testing::Values(0U, 1U, 2U, 33U),
                         testing::PrintToStringParamName());

TEST_P(regression_closed, refuses_any_work_from_any_thread) {
  for (int how = 0; how != 4; ++how) {
    if (how == 0) pool.shutdown();
    if (how == 1) pool.shutdown(rubato::discard);
    if (how == 2) {
      EXPECT_TRUE(pool.shutdown(rubato::drain, 1h));
    }
    if (how == 3) {
      pool.request_shutdown(rubato::drain);
      pool.shutdown();
    }
    auto const stats = pool.stats();
    expect_all(ended::refused, pool, strand, ran, "outside");
    other.spawn([&] { expect_all(ended::refused, pool, strand, ran, "in a task of another pool"); }).get();
    in_driven_task(pool, [&] { expect_all(ended::refused, pool, strand, ran, "in a task driven there"); });
    pool.run([&] { expect_all(ended::refused, pool, strand, ran, "in run()"); });
    EXPECT_EQ(pool.pending(), 0U);
    EXPECT_EQ(pool.stats().queued, 0U);
    EXPECT_EQ(pool.stats().timers, stats.timers);
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(ran, 0) << "nothing was kept";
    pool.resize(GetParam());
    expect_all(ended::accepted, pool, strand, ran, "after resize()");
    EXPECT_TRUE(pool.wait_idle());
    EXPECT_EQ(ran.exchange(0), static_cast<int>(std::size(kinds)));
  }
}

TEST_P(regression_closed, refuses_what_comes_to_it_from_a_coroutine) {
  auto const moves_in = [&]() -> task<bool> {
    try {
      co_await rubato::resume_on(pool);
    } catch (cancelled const&) {
      co_return rubato::current_pool() == &other;
    }
    co_return false;
  };
  auto const races = [&](auto call) {
    return [this, call]() -> task<bool> {
      auto const f = [this] { return ++ran; };
      auto const g = [this]() -> task<int> { co_return ++ran; };
      int refused = 0;
      try {
        static_cast<void>(co_await call(pool, f));
      } catch (cancelled const&) {
        ++refused;
      }
      try {
        static_cast<void>(co_await call(pool, g));
      } catch (cancelled const&) {
        ++refused;
      }
      co_return refused == 2;
    };
  };
  pool.shutdown();
  EXPECT_TRUE(other.block_on(moves_in()));
  EXPECT_TRUE(other.spawn(moves_in()).get());
  auto const race = races([](auto&... args) { return rubato::async_race(args...); });
  auto const hedge = races([](auto&... args) { return rubato::async_hedge(args...); });
  for (rubato::pool* from : {&other, &pool}) { // block_on() of the closed pool drives it
    EXPECT_TRUE(from->block_on(race()));
    EXPECT_TRUE(from->block_on(hedge()));
  }
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(pool.pending(), 0U);
}

TEST_P(regression_closed, has_no_seats) {
  pool.shutdown();
  auto const expect = [&] {
    EXPECT_THROW(static_cast<void>(pool.spawn_on(0, work(ran))), std::out_of_range);
    EXPECT_TRUE(pool.broadcast([] { return 1; }).empty());
    EXPECT_EQ(pool.size(), 0U);
  };
  expect();
  other.spawn(expect).get();
  in_driven_task(pool, expect);
}

TEST_P(regression_closed, runs_on_the_caller_what_needs_only_it) {
  pool.shutdown();
  auto const expect = [&] {
    auto const me = std::this_thread::get_id();
    std::atomic<int> elsewhere{0}, here{0};
    auto const look = [&] { ++(std::this_thread::get_id() == me ? here : elsewhere); };
    pool.run(look);
    {
      auto const in = pool.join_as_member();
      rubato::join(look, look);
      EXPECT_EQ(rubato::current_pool(), &pool);
    }
    rubato::for_index(pool, 0, 100, [&](int) { look(); });
    std::vector<int> v(100, 1);
    EXPECT_EQ(rubato::reduce(pool, v, 0, std::plus<>()), 100);
    EXPECT_EQ(pool.run([] { return forked_sum(0, 300); }), sum_below(300));
    rubato::with_scope(pool, [&](rubato::scope& s) {
      s.spawn(look);
      s.spawn([&]() -> task<void> {
        look();
        co_return;
      });
    });
    rubato::task_group group(pool);
    group.spawn(look);
    group.wait();
    pool.block_on([&]() -> task<void> {
      look();
      co_await rubato::yield();
      look();
      co_await rubato::when_all([&]() -> task<void> { co_return look(); }(),
                                [&]() -> task<void> { co_return look(); }());
    }());
    EXPECT_EQ(elsewhere, 0);
    EXPECT_EQ(here, 110);
    auto const unpinned = rubato::race_options().pin(false);
    EXPECT_EQ(rubato::race(pool, unpinned, [] { return 1; }), 1);
    EXPECT_EQ(rubato::hedge(pool, unpinned, [] { return 2; }), 2);
    EXPECT_EQ(pool.pending(), 0U);
  };
  expect();
  other.spawn(expect).get();
  in_driven_task(pool, expect);
}

TEST_P(regression_closed, shows_a_stop_to_what_is_driven_there) {
  pool.shutdown();
  EXPECT_TRUE(pool.run([](std::stop_token t) { return t.stop_requested(); }));
  EXPECT_THROW(pool.block_on([]() -> task<void> { co_await rubato::sleep_for(1h); }()), cancelled);
}

TEST_P(regression_closed, keeps_continuations_until_a_thread_waits) {
  auto const before = pool.spawn([] { return 1; }).share();
  before.wait();
  pool.shutdown();
  auto f = before.then([&](int const& v) { return ran += v; });
  rubato::promise<int> p;
  auto g = p.get_future().then(pool, [&](int v) { return ran += v; });
  p.set_value(4);
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(pool.pending(), 2U);
  EXPECT_EQ(pool.stats().queued, 2U);
  pool.shutdown(); // is a drain of a closed pool: it leaves them
  EXPECT_EQ(pool.pending(), 2U);
  EXPECT_NE(f.get() + g.get(), 0);
  EXPECT_EQ(ran, 5);
}

TEST_P(regression_closed, runs_continuations_after_a_resize) {
  pool.shutdown();
  rubato::promise<int> p;
  auto f = p.get_future().then(pool, [&](int v) { return ran += v; });
  p.set_value(4);
  EXPECT_EQ(ran, 0);
  pool.resize(GetParam());
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, 4);
  EXPECT_EQ(f.get(), 4);
}

TEST_P(regression_closed, drops_continuations_at_its_end) {
  census held;
  rubato::promise<int> p;
  rubato::future<int> f;
  {
    rubato::pool mortal(with_workers(GetParam()));
    mortal.shutdown();
    f = p.get_future().then(mortal, [m = held.enrol()](int v) { return v; });
    p.set_value(4);
    EXPECT_NE(held.alive(), 0);
  }
  EXPECT_EQ(held.alive(), 0);
  EXPECT_THROW(static_cast<void>(f.get()), std::future_error);
}

TEST_P(regression_closed, resumes_a_coroutine_that_a_thread_awaits) {
  pool.shutdown();
  rubato::promise<int> p;
  std::atomic<bool> suspends{false};
  std::thread sets([&] {
    EXPECT_TRUE(eventually([&] { return suspends.load(); }));
    p.set_value(4);
  });
  auto const waits = [&](rubato::future<int> f) -> task<int> {
    suspends = true;
    co_return co_await std::move(f);
  };
  EXPECT_EQ(pool.block_on(waits(p.get_future())), 4);
  sets.join();
}

/// Neither was shut down.
TEST_P(regression_closed, is_none_that_has_no_workers) {
  rubato::pool none(rubato::no_workers);
  rubato::strand of_none(none);
  expect_all(ended::accepted, none, of_none, ran, "without workers");
  EXPECT_TRUE(none.wait_idle());
  EXPECT_EQ(ran.exchange(0), static_cast<int>(std::size(kinds)));
  pool.resize(0);
  expect_all(ended::accepted, pool, strand, ran, "after resize(0)");
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran.exchange(0), static_cast<int>(std::size(kinds)));
  pool.shutdown();
  expect_all(ended::refused, pool, strand, ran, "closed");
  pool.resize(0); // starts it again, without workers
  expect_all(ended::accepted, pool, strand, ran, "after shutdown() and resize(0)");
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(ran, static_cast<int>(std::size(kinds)));
}

/// max_queued, and producers that stop when they are refused.
TEST_P(regression_closed, refuses_producers_that_wait_for_room) {
  for (std::size_t round = 0; round != scaled(20); ++round) {
    rubato::pool limited(with_workers(GetParam()).max_queued(4));
    std::atomic<int> refused{0};
    std::atomic<long> accepted{0}, done{0};
    {
      std::vector<std::jthread> producers;
      for (int k = 0; k != 4; ++k)
        producers.emplace_back([&] {
          try {
            for (;;) {
              limited.enqueue([&] { ++done; });
              ++accepted;
            }
          } catch (cancelled const&) {
            ++refused;
          }
        });
      EXPECT_TRUE(eventually([&] { return accepted > 20; }));
      limited.shutdown();
    } // each producer ends
    EXPECT_EQ(refused, 4);
    EXPECT_EQ(accepted, done) << "what was not refused has run";
    limited.resize(1); // the limit holds again, and lets all through
    for (int i = 0; i != 9; ++i) limited.enqueue([&] { ++done; });
    EXPECT_TRUE(limited.wait_idle());
    EXPECT_EQ(done, accepted + 9);
  }
}

/// Work that comes in the last instant of a drain is run or refused, never left behind.
TEST_P(regression_closed, runs_or_refuses_what_comes_while_it_closes) {
  std::atomic<bool> over{false};
  std::atomic<int> accepted{0}, touched{0};
  std::vector<std::jthread> producers;
  for (std::size_t t = 0; t != 3; ++t)
    producers.emplace_back([&, t] {
      for (std::size_t i = t; !over; i += 3) {
        ended const e = kinds[i % std::size(kinds)].queue(pool, strand, ran);
        std::string_view const name = kinds[i % std::size(kinds)].name;
        // The end cancels what has a deadline, and drops what waits behind a task of its strand.
        bool const may_be_dropped =
            name.ends_with("_after") || name.ends_with("_at") || name.starts_with("a strand");
        if (e == ended::accepted && !may_be_dropped) ++accepted;
        if (e != ended::accepted && e != ended::refused) ++touched;
      }
    });
  producers.emplace_back([&] {
    auto const moves_in = [&]() -> task<void> {
      co_await rubato::resume_on(pool);
      ++ran;
    };
    while (!over) try {
        other.spawn(moves_in()).get();
        ++accepted;
      } catch (cancelled const&) {
      }
  });
  for (std::size_t round = 0; round != scaled(GetParam() == 33 ? 30 : 150); ++round) {
    pool.shutdown();
    EXPECT_EQ(pool.pending(), 0U);
    pool.resize(GetParam());
  }
  over = true;
  pool.shutdown(); // before the join: without workers no other thread runs a coroutine that has come
  producers.clear();
  EXPECT_EQ(touched, 0);
  EXPECT_GE(ran, accepted) << "what may be dropped comes on top";
  EXPECT_EQ(pool.pending(), 0U);
}

/// A stranger's call must not keep a shutdown waiting.
TEST_P(regression_closed, ends_again_beside_refused_callers) {
  pool.shutdown();
  std::atomic<bool> over{false};
  std::vector<std::jthread> callers;
  for (int t = 0; t != 3; ++t)
    callers.emplace_back([&] {
      while (!over) EXPECT_FALSE(pool.try_enqueue([] {}));
    });
  for (int i = 0; i != 100; ++i) {
    pool.shutdown();
    pool.shutdown(rubato::discard);
    EXPECT_TRUE(pool.wait_idle());
  }
  over = true;
}

/// A copy that throws gives back what it has reserved: the pool closes.
TEST_P(regression_closed, closes_after_callables_whose_copy_throws) {
  struct throws {
    throws() = default;
    throws(throws const&) { throw 1; }
    void operator()() const {}
  };
  rubato::pool limited(with_workers(GetParam()).max_queued(2));
  for (int i = 0; i != 5; ++i) {
    throws const f;
    EXPECT_THROW(limited.enqueue(f), int);
    EXPECT_THROW(static_cast<void>(limited.try_enqueue(f)), int);
    EXPECT_THROW(static_cast<void>(limited.spawn(f)), int);
    EXPECT_THROW(static_cast<void>(limited.submit(f)), int);
  }
  EXPECT_TRUE(limited.try_enqueue([&] { ++ran; }));
  limited.shutdown();
  EXPECT_EQ(ran, 1);
}

/// request_shutdown() leaves the closing to the last thread that has something to do, here a caller.
TEST_P(regression_closed, is_closed_by_the_last_caller_on_its_way) {
  if (GetParam() == 0) return; // a thread that drives it closes it
  struct slow_copy {
    gate* copying;
    gate* go_on;
    std::atomic<int>* ran;
    slow_copy(gate& c, gate& g, std::atomic<int>& n)
        : copying(&c)
        , go_on(&g)
        , ran(&n) {}
    slow_copy(slow_copy const& other)
        : copying(other.copying)
        , go_on(other.go_on)
        , ran(other.ran) {
      copying->open();
      static_cast<void>(go_on->wait());
    }
    slow_copy(slow_copy&& other) = default;
    void operator()() const { ++*ran; }
  };
  gate copying, go_on;
  std::jthread caller([&] {
    slow_copy const f(copying, go_on, ran);
    pool.enqueue(f);
  });
  ASSERT_TRUE(copying.wait());
  pool.request_shutdown(rubato::drain);
  go_on.open();
  caller.join();
  EXPECT_TRUE(eventually([&] { return pool.size() == 0; }));
  EXPECT_EQ(ran, 1);
  EXPECT_FALSE(pool.try_enqueue([] {}));
}

/// A continuation that a thread from outside queues in the last instant of a pool is run or dropped.
TEST(regression_last_instant, leaves_no_continuation_behind) {
  hang_guard const guard;
  census held;
  for (std::size_t round = 0; round != scaled(500); ++round) {
    auto mortal = std::make_unique<rubato::pool>(1);
    auto s = mortal->spawn([] { return 5; }).share();
    s.wait();
    std::atomic<int> state{0};
    std::jthread const outside([&] {
      state = 1;
      while (state != 2) {
      }
      for (std::size_t k = 0; k != round % 97 * 20; ++k) std::atomic_signal_fence(std::memory_order_seq_cst);
      auto g = s.then([m = held.enrol()](int x) { return x; });
      EXPECT_TRUE(eventually([&] { return g.ready(); }));
    });
    while (state == 0) std::this_thread::yield();
    state = 2; // now both at once
    mortal.reset();
  }
  EXPECT_EQ(held.alive(), 0);
}

} // namespace
