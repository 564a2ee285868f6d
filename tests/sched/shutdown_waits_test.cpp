// Every wait against both levels of a pool's end: the table in docs/shutdown.md, cell by cell.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "support/never_ready.hpp"
#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

/// How a coroutine's wait ends by itself.
enum class early : unsigned char { throws, by_value };

struct coroutine_wait {
  char const* name;
  early way;
  bool timed; ///< a drain ends it too
  rubato::task<int> (*run)(never_ready& never);
};

// 1: the wait has ended by a value that says so.
constexpr coroutine_wait coroutine_waits[] = {
    {"sleep_for", early::throws, true,
     [](never_ready&) -> rubato::task<int> {
       co_await rubato::sleep_for(1h);
       co_return 0;
     }},
    {"tick", early::throws, true,
     [](never_ready&) -> rubato::task<int> {
       rubato::interval hourly(1h);
       co_await hourly.tick();
       co_return 0;
     }},
    {"future", early::throws, false,
     [](never_ready& n) -> rubato::task<int> { co_return co_await n.future; }},
    {"receive", early::by_value, false,
     [](never_ready& n) -> rubato::task<int> {
       auto const value = co_await n.channel.receive();
       co_return value ? 0 : 1;
     }},
    {"lock", early::throws, false,
     [](never_ready& n) -> rubato::task<int> {
       co_await n.mutex.acquire();
       co_return 0;
     }},
    {"acquire", early::throws, false,
     [](never_ready& n) -> rubato::task<int> {
       co_await n.semaphore.acquire();
       co_return 0;
     }},
    {"latch", early::throws, false,
     [](never_ready& n) -> rubato::task<int> {
       co_await n.latch.wait();
       co_return 0;
     }},
};

/// The pool that ends is a second one; the fixture's looks on.
class coro_waits : public on_workers {
protected:
  rubato::pool mortal{GetParam() == 0 ? 1 : GetParam()};
  never_ready never;
  std::atomic<int> begun{0};

  /// A task that has come to its wait, or is about to.
  rubato::future<int> about_to_wait(coroutine_wait const& w) {
    int const before = begun;
    auto f = mortal.spawn(
        [](std::atomic<int>& n, coroutine_wait const& how, never_ready& what) -> rubato::task<int> {
          ++n;
          co_return co_await how.run(what);
        }(begun, w, never));
    EXPECT_TRUE(eventually([&] { return begun != before; }));
    return f;
  }
  /// The same; unless its wait is for a time, the pool is idle.
  rubato::future<int> waiting(coroutine_wait const& w) {
    auto f = about_to_wait(w);
    if (!w.timed) mortal.wait_idle(); // suspended; an armed timer keeps a pool from being idle
    return f;
  }
  [[nodiscard]] static outcome end_of(coroutine_wait const& w) {
    return w.way == early::throws ? outcome::cancelled : outcome::value;
  }
};
RUBATO_TEST_WITH_WORKERS(coro_waits, all_counts);

TEST_P(coro_waits, for_time_end_at_a_drain_and_others_are_destroyed) {
  for (coroutine_wait const& w : coroutine_waits) {
    SCOPED_TRACE(w.name);
    auto f = waiting(w);
    mortal.shutdown(rubato::drain);
    ASSERT_TRUE(f.ready());
    EXPECT_EQ(outcome_of_get(f), w.timed ? outcome::cancelled : outcome::broken);
    mortal.resize(2);
  }
}

TEST_P(coro_waits, end_early_at_a_discard) {
  for (coroutine_wait const& w : coroutine_waits) {
    SCOPED_TRACE(w.name);
    auto f = waiting(w);
    mortal.shutdown(rubato::discard);
    ASSERT_TRUE(f.ready());
    EXPECT_EQ(outcome_of_get(f), end_of(w));
    mortal.resize(2);
  }
}

TEST_P(coro_waits, end_at_a_discard_during_a_drain) {
  for (coroutine_wait const& w : coroutine_waits) {
    if (w.timed) continue;
    SCOPED_TRACE(w.name);
    rubato_test::gate open;
    std::atomic<bool> running{false};
    auto runs = mortal.spawn([&] { // keeps the drain going
      running = true;
      return rubato::blocking([&] { return open.wait(); });
    });
    auto f = about_to_wait(w);
    ASSERT_TRUE(eventually([&] { return running.load(); }));
    mortal.request_shutdown(rubato::drain);
    EXPECT_FALSE(f.ready());
    mortal.request_shutdown(rubato::discard);
    EXPECT_EQ(outcome_of_get(f), end_of(w));
    open.open();
    EXPECT_TRUE(runs.get());
    mortal.shutdown();
    mortal.resize(2);
  }
}

TEST_P(coro_waits, for_children_end_with_them) {
  for (bool const discard : {false, true}) {
    SCOPED_TRACE(discard);
    std::atomic<int> suspended{0};
    auto const child = [&]() -> rubato::task<int> {
      ++suspended;
      auto const value = co_await never.channel.receive();
      co_return value ? 0 : 1;
    };
    auto all = mortal.spawn([&]() -> rubato::task<int> {
      auto const [a, b] = co_await rubato::when_all(child(), child());
      co_return a + b;
    });
    auto scoped = mortal.spawn([&]() -> rubato::task<int> {
      co_await rubato::with_async_scope([&](rubato::scope& s) -> rubato::task<void> {
        s.spawn(child());
        co_return;
      });
      co_return 1;
    });
    ASSERT_TRUE(eventually([&] { return suspended == 3; }));
    mortal.wait_idle();
    if (discard)
      mortal.shutdown(rubato::discard);
    else
      mortal.shutdown(rubato::drain);
    ASSERT_TRUE(all.ready());
    ASSERT_TRUE(scoped.ready());
    EXPECT_EQ(outcome_of_get(all), discard ? outcome::value : outcome::broken);
    EXPECT_EQ(outcome_of_get(scoped), discard ? outcome::value : outcome::broken);
    mortal.resize(2);
  }
}

TEST_P(coro_waits, that_are_shielded_end_early_at_a_discard_only) {
  for (bool const discard : {false, true}) {
    SCOPED_TRACE(discard);
    std::atomic<int> begun_here{0};
    std::atomic<bool> slept{false}, token_shows_it{false};
    rubato::channel<int> answers(0);
    auto rolls_back = [&]() -> rubato::task<int> {
      ++begun_here;
      co_await rubato::sleep_for(5ms); // ends in time, though the pool drains
      token_shows_it = rubato::this_task_stop_token().stop_requested();
      slept = true;
      co_return 1;
    };
    auto receives = [&]() -> rubato::task<int> {
      ++begun_here;
      auto const value = co_await answers.receive();
      co_return value.value_or(0);
    };
    auto f = mortal.spawn([&]() -> rubato::task<int> { co_return co_await rubato::shielded(rolls_back()); });
    auto g = mortal.spawn([&]() -> rubato::task<int> { co_return co_await rubato::shielded(receives()); });
    ASSERT_TRUE(eventually([&] { return begun_here == 2; }));
    f.cancel(); // does not reach it
    if (discard) {
      mortal.shutdown(rubato::discard);
      auto const how = outcome_of_get(f);
      EXPECT_TRUE(how == outcome::cancelled || (how == outcome::value && slept)) << how;
      EXPECT_EQ(g.get(), 0);
    } else {
      std::jthread const answers_late([&] {
        std::this_thread::sleep_for(2ms); // so that the drain mostly waits for it
        EXPECT_TRUE(answers.send_blocking(7));
      });
      mortal.shutdown(rubato::drain);
      EXPECT_TRUE(slept);
      EXPECT_FALSE(token_shows_it);
      EXPECT_EQ(f.get(), 1);
      EXPECT_EQ(g.get(), 7);
    }
    mortal.resize(2);
  }
}

/// What a discard drops before it has begun is cancelled to the coroutine that awaits it, not broken.
TEST_P(coro_waits, regression_for_late_children_throw_cancelled) {
  auto const child = []() -> rubato::task<int> { co_return 1; };
  using wait = rubato::task<int> (*)(rubato::task<int>, rubato::task<int>);
  constexpr std::pair<char const*, wait> waits[] = {
      {"shielded",
       [](rubato::task<int> a, rubato::task<int> /*b*/) { return rubato::shielded(std::move(a)); }},
      {"when_any",
       [](rubato::task<int> a, rubato::task<int> b) -> rubato::task<int> {
         auto const first = co_await rubato::when_any(std::move(a), std::move(b));
         co_return std::get<0>(first.value);
       }},
  };
  for (auto const& [name, run] : waits) {
    SCOPED_TRACE(name);
    auto f = mortal.spawn([&, how = run]() -> rubato::task<int> {
      auto const none = co_await never.channel.receive();
      EXPECT_FALSE(none);
      co_return co_await how(child(), child());
    });
    mortal.wait_idle();
    mortal.shutdown(rubato::discard);
    ASSERT_TRUE(f.ready());
    EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
    mortal.resize(2);
  }
}

/// A child whose sleep a drain or a cancel ends has not failed, but has cut its scope. Until the scope's end
/// its siblings and the body go on.
TEST_P(coro_waits, regression_of_children_cut_a_scope_at_any_stop) {
  using scoped = rubato::future<int> (*)(rubato::pool&, std::atomic<int>&);
  constexpr scoped scopes[] = {
      [](rubato::pool& p, std::atomic<int>& n) {
        return p.spawn([&n]() -> rubato::task<int> {
          co_return co_await rubato::with_async_scope([&n](rubato::scope& s) -> rubato::task<int> {
            s.spawn([&n]() -> rubato::task<void> {
              ++n;
              co_await rubato::sleep_for(1h);
            });
            s.spawn([&n]() -> rubato::task<void> {
              ++n;
              co_await rubato::when_all(rubato::sleep_for(1h), rubato::sleep_for(1h));
            });
            co_return 1;
          });
        });
      },
      [](rubato::pool& p, std::atomic<int>& n) {
        return p.spawn([&n] {
          return rubato::with_scope([&n](rubato::scope& s) {
            for (int i = 0; i != 2; ++i)
              s.spawn([&n]() -> rubato::task<void> {
                ++n;
                co_await rubato::sleep_for(1h);
              });
            return 1;
          });
        });
      },
  };
  for (bool const drain : {false, true})
    for (scoped const open : scopes) {
      SCOPED_TRACE(drain);
      std::atomic<int> asleep{0};
      auto f = open(mortal, asleep);
      ASSERT_TRUE(eventually([&] { return asleep == 2; }));
      if (drain) {
        mortal.shutdown(rubato::drain);
        mortal.resize(2);
      } else {
        f.cancel();
      }
      EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
    }
}

/// A loop that tries again when its time is over must not spin for ever in a pool that drains.
TEST_P(coro_waits, regression_with_deadline_throws_in_a_drain) {
  std::atomic<int> rounds{0};
  auto f = mortal.spawn([&]() -> rubato::task<int> {
    for (;;) {
      auto const value = co_await rubato::with_deadline(never.channel.receive(), 1ms);
      if (value) co_return 1;
      ++rounds;
    }
  });
  ASSERT_TRUE(eventually([&] { return rounds > 1; }));
  mortal.shutdown();
  EXPECT_NE(outcome_of_get(f), outcome::value);
}

TEST_P(coro_waits, yield_throws_once_the_pool_discards) {
  std::atomic<unsigned> turns{0};
  auto f = mortal.spawn([&]() -> rubato::task<int> {
    for (;;) {
      ++turns;
      co_await rubato::yield();
    }
  });
  EXPECT_TRUE(eventually([&] { return turns > 100; }));
  mortal.shutdown(rubato::discard);
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
}

TEST_P(coro_waits, regression_resume_on_a_pool_that_has_ended_throws) {
  mortal.shutdown();
  auto f = rubato::when_all(pool.spawn([&]() -> rubato::task<int> {
    try {
      co_await rubato::resume_on(mortal);
    } catch (rubato::cancelled const&) {
      co_return rubato::current_pool() == &pool ? 1 : 2;
    }
    co_return 0;
  }));
  EXPECT_EQ(std::get<0>(f.get()), 1);
}

/// A coroutine that arrives while its pool is being closed is run, or refused, but never left behind.
TEST(coro_waits, regression_resume_on_races_the_end_of_the_pool) {
  hang_guard const guard;
  for (std::size_t round = 0; round != scaled(500); ++round) {
    rubato::pool home(1);
    rubato::pool blocking_region(1 + round % 2);
    std::atomic<bool> go{false};
    auto f = home.spawn([](rubato::pool& to, std::atomic<bool>& on) -> rubato::task<int> {
      on = true;
      try {
        co_await rubato::resume_on(to);
      } catch (rubato::cancelled const&) {
        co_return 1;
      }
      co_return 2;
    }(blocking_region, go));
    while (!go) std::this_thread::yield();
    blocking_region.shutdown();
    ASSERT_NE(f.get(), 0);
  }
}

/// What closures wait for; 1: the wait has ended early, by value.
struct closure_wait {
  char const* name;
  early way;
  int (*run)(never_ready& never);
};
constexpr closure_wait closure_waits[] = {
    {"get", early::throws, [](never_ready& n) { return n.future.get(); }},
    {"wait", early::throws,
     [](never_ready& n) {
       n.future.wait();
       return 0;
     }},
    {"wait_for", early::by_value, [](never_ready& n) { return n.future.wait_for(1h) ? 0 : 1; }},
    {"nested pools", early::throws,
     [](never_ready& n) { return rubato::pool::global().run([&] { return n.future.get(); }); }},
};

class waiting_closures : public coro_waits {
protected:
  rubato::future<int> waiting(closure_wait const& w) {
    int const before = begun;
    auto f = mortal.spawn([this, &w] {
      ++begun;
      return w.run(never);
    });
    EXPECT_TRUE(eventually([&] { return begun != before; }));
    return f;
  }
};
RUBATO_TEST_WITH_WORKERS(waiting_closures, all_counts);

TEST_P(waiting_closures, go_on_during_a_drain_and_end_at_a_discard) {
  for (closure_wait const& w : closure_waits) {
    SCOPED_TRACE(w.name);
    auto f = waiting(w);
    mortal.request_shutdown(rubato::drain);
    EXPECT_FALSE(f.wait_for(2ms));
    mortal.request_shutdown(rubato::discard);
    EXPECT_EQ(outcome_of_get(f), w.way == early::throws ? outcome::cancelled : outcome::value);
    mortal.shutdown();
    mortal.resize(2);
  }
}

TEST_P(waiting_closures, end_when_the_grace_is_over) {
  for (closure_wait const& w : closure_waits) {
    SCOPED_TRACE(w.name);
    auto f = waiting(w);
    EXPECT_FALSE(mortal.shutdown(rubato::drain, 2ms));
    ASSERT_TRUE(f.ready());
    EXPECT_EQ(outcome_of_get(f), w.way == early::throws ? outcome::cancelled : outcome::value);
    mortal.resize(2);
  }
  auto quick = mortal.spawn([] { return 1; });
  EXPECT_TRUE(mortal.shutdown(rubato::drain, 1h));
  EXPECT_EQ(quick.get(), 1);
}

TEST_P(waiting_closures, regression_a_foreign_discard_is_no_drain) {
  for (std::size_t round = 0; round != scaled(100); ++round) {
    auto f = mortal.spawn([this] { return never.future.get(); });
    std::jthread const discards([&] { mortal.request_shutdown(rubato::discard); });
    bool const drained = mortal.shutdown(rubato::drain, 1h);
    auto const how = outcome_of_get(f);
    EXPECT_EQ(drained, false) << how;
    mortal.resize(2);
  }
}

TEST_P(waiting_closures, for_borrowed_work_end_with_that_work) {
  std::atomic<int> children{0};
  auto scoped = mortal.spawn([&] {
    int borrowed = 0;
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&]() -> rubato::task<void> {
        ++children;
        auto const value = co_await never.channel.receive();
        borrowed += value ? 0 : 1;
      });
    });
    return borrowed;
  });
  auto blocked = mortal.spawn([&] {
    return rubato::block_on([](never_ready& n, std::atomic<int>& k) -> rubato::task<int> {
      ++k;
      auto const value = co_await n.channel.receive();
      co_return value ? 0 : 1;
    }(never, children));
  });
  auto joined = mortal.spawn([&] {
    auto const wait = [&] {
      ++children;
      return outcome_of([&] { return never.future.get(); }) == outcome::cancelled ? 1 : 0;
    };
    auto const [a, b] = rubato::join(wait, [] { return 1; });
    return a + b;
  });
  ASSERT_TRUE(eventually([&] { return children == 3; }));
  mortal.request_shutdown(rubato::drain);
  EXPECT_FALSE(scoped.wait_for(2ms));
  mortal.shutdown(rubato::discard);
  EXPECT_EQ(scoped.get(), 1);
  EXPECT_EQ(blocked.get(), 1);
  EXPECT_EQ(joined.get(), 2);
}

TEST_P(waiting_closures, begin_nothing_new_in_loops_at_a_discard) {
  std::atomic<bool> begun_one{false};
  auto f = mortal.spawn([&] {
    rubato::for_index(0, 1'000'000'000, [&](int) {
      begun_one = true;
      std::this_thread::sleep_for(100us);
    });
  });
  ASSERT_TRUE(eventually([&] { return begun_one.load(); }));
  mortal.shutdown(rubato::discard);
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
}

TEST_P(waiting_closures, of_threads_outside_go_on) {
  std::atomic<int> got{0};
  std::jthread const outside([&] { got = never.future.get(); });
  mortal.shutdown(rubato::discard);
  EXPECT_EQ(got, 0);
  never.promise.set_value(3);
  EXPECT_TRUE(eventually([&] { return got == 3; }));
}

// What outside threads may queue meanwhile.

class floods : public on_workers {
protected:
  rubato::pool mortal{rubato_test::with_workers(GetParam())};
};
RUBATO_TEST_WITH_WORKERS(floods, counts_with_workers);

TEST_P(floods, regression_from_outside_do_not_hold_up_a_drain) {
  std::atomic<bool> over{false};
  std::atomic<long> accepted{0}, ran{0}, refused{0};
  std::vector<std::jthread> senders;
  for (int i = 0; i != 3; ++i)
    senders.emplace_back([&] {
      while (!over) {
        try {
          mortal.enqueue([&] { ++ran; });
          ++accepted;
        } catch (rubato::cancelled const&) {
          ++refused;
        }
      }
    });
  EXPECT_TRUE(eventually([&] { return ran > 100; }));
  mortal.shutdown();
  over = true;
  senders.clear();
  EXPECT_EQ(accepted, ran) << "the closed pool refuses what comes after the end";
  EXPECT_EQ(mortal.pending(), 0U);
}

TEST_P(floods, find_callables_untouched_when_they_are_refused) {
  rubato_test::gate open;
  mortal.enqueue([&] { static_cast<void>(open.wait()); });
  mortal.request_shutdown(rubato::drain);
  std::atomic<int> ran{0};
  int accepted = 0;
  auto kept = [&ran, p = std::make_unique<int>(1)] { ran += *p; };
  while (mortal.try_enqueue([&] { ++ran; })) ++accepted;
  EXPECT_EQ(accepted, 1'024);
  EXPECT_FALSE(mortal.try_enqueue(std::move(kept)));
  EXPECT_THROW(mortal.enqueue(std::move(kept)), rubato::cancelled);
  EXPECT_THROW(static_cast<void>(mortal.spawn(std::move(kept))), rubato::cancelled);
  EXPECT_THROW(static_cast<void>(mortal.submit(std::move(kept))), rubato::cancelled);
  EXPECT_THROW(mortal.enqueue_bulk(3, [](std::size_t) {}), rubato::cancelled);
  kept(); // NOLINT(bugprone-use-after-move): it was left untouched
  open.open();
  mortal.shutdown();
  EXPECT_EQ(ran, accepted + 1);
}

TEST_P(floods, of_its_own_tasks_are_run_to_their_end) {
  std::atomic<int> ran{0};
  mortal.enqueue([&] {
    mortal.request_shutdown(rubato::drain);
    for (int i = 0; i != 3'000; ++i) mortal.enqueue([&] { ++ran; });
  });
  mortal.shutdown();
  EXPECT_TRUE(eventually([&] { return ran == 3'000; }));
}

} // namespace
