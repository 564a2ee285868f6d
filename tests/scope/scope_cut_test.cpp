// Scopes that a stop from outside has cut: they throw cancelled at their end, so that they do not look like
// finished ones.
#include <gtest/gtest.h>

#include "support/never_ready.hpp"
#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/values.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <functional>

using namespace rubato_test;

namespace {

using namespace std::chrono_literals;

using task = rubato::task<>;

class cut_scopes : public on_workers {};
RUBATO_TEST_WITH_WORKERS(cut_scopes, all_counts);

class cut_scopes_with_workers : public on_workers {};
RUBATO_TEST_WITH_WORKERS(cut_scopes_with_workers, counts_with_workers);

using stop_function = std::function<void()>;

/// Adds a child that stop() keeps from beginning, or ends as cancelled.
struct kind {
  char const* name;
  void (*add)(rubato::scope&, stop_function const& stop, never_ready&);
};

void must_not_begin() { ADD_FAILURE() << "a child of a stopped scope has begun"; }
task coroutine_that_must_not_begin() {
  must_not_begin();
  co_return;
}
task stops_and_waits(stop_function stop, never_ready& w) {
  stop();
  static_cast<void>(co_await w.future);
}

constexpr kind kinds[] = {
    {"a closure does not begin",
     [](rubato::scope& s, stop_function const& stop, never_ready&) {
       stop();
       s.spawn(must_not_begin);
     }},
    {"a coroutine does not begin",
     [](rubato::scope& s, stop_function const& stop, never_ready&) {
       stop();
       s.spawn(coroutine_that_must_not_begin());
     }},
    {"a child with a priority does not begin",
     [](rubato::scope& s, stop_function const& stop, never_ready&) {
       stop();
       s.spawn(rubato::priority::high, must_not_begin);
     }},
    {"a child with a future does not begin",
     [](rubato::scope& s, stop_function const& stop, never_ready&) {
       stop();
       static_cast<void>(s.async(must_not_begin));
     }},
    {"a closure ends",
     [](rubato::scope& s, stop_function const& stop, never_ready& w) {
       s.spawn([&w, stop] {
         stop();
         w.future.wait();
       });
     }},
    {"a coroutine ends",
     [](rubato::scope& s, stop_function const& stop, never_ready& w) { s.spawn(stops_and_waits(stop, w)); }},
    {"a closure that returns a task ends",
     [](rubato::scope& s, stop_function const& stop, never_ready& w) {
       s.spawn([&w, stop] { return stops_and_waits(stop, w); });
     }},
    {"an inner scope ends",
     [](rubato::scope& s, stop_function const& stop, never_ready& w) {
       s.spawn([&w, stop] {
         rubato::with_scope([&](rubato::scope& inner) { inner.spawn(stops_and_waits(stop, w)); });
       });
     }},
    {"a loop ends",
     [](rubato::scope& s, stop_function const& stop, never_ready&) {
       s.spawn([stop] {
         stop();
         rubato::for_index(0, 1'000, [](int) {});
       });
     }},
};

/// The stop functions that a test makes of the scope's own stop and of the outer scope's.
using choice = stop_function (*)(rubato::scope& own, rubato::scope& outer);

outcome of_closure(rubato::pool& pool, kind const& k, choice c) {
  outcome seen = outcome::other;
  never_ready w;
  rubato::with_scope(pool, [&](rubato::scope& outer) {
    outer.spawn([&] { // ends by a value, so the outer scope is not concerned
      seen = outcome_of(
          [&] { return rubato::with_scope([&](rubato::scope& s) { k.add(s, c(s, outer), w); }), 0; });
    });
  });
  return seen;
}
outcome of_wait(rubato::pool& pool, kind const& k, choice c) {
  outcome seen = outcome::other;
  never_ready w;
  rubato::with_scope(pool, [&](rubato::scope& outer) {
    outer.spawn([&] {
      try {
        rubato::with_scope([&](rubato::scope& s) {
          k.add(s, c(s, outer), w);
          seen = outcome_of([&] { return s.wait(), 0; });
        });
      } catch (rubato::cancelled const&) {
        EXPECT_EQ(seen, outcome::cancelled); // a cut scope throws each time
      }
    });
  });
  return seen;
}
outcome of_coroutine(rubato::pool& pool, kind const& k, choice c) {
  outcome seen = outcome::other;
  never_ready w;
  rubato::with_scope(pool, [&](rubato::scope& outer) {
    outer.spawn([&]() -> task {
      auto const body = [&](rubato::scope& s) -> task {
        k.add(s, c(s, outer), w);
        co_return;
      };
      try {
        co_await rubato::with_async_scope(body);
        seen = outcome::value;
      } catch (rubato::cancelled const&) {
        seen = outcome::cancelled;
      }
    });
  });
  return seen;
}
outcome of_join(rubato::pool& pool, kind const& k, choice c) {
  outcome seen = outcome::other;
  never_ready w;
  rubato::with_scope(pool, [&](rubato::scope& outer) {
    outer.spawn([&]() -> task {
      auto const body = [&](rubato::scope& s) -> task {
        k.add(s, c(s, outer), w);
        try {
          co_await s.join();
          seen = outcome::value;
        } catch (rubato::cancelled const&) {
          seen = outcome::cancelled;
        }
      };
      try {
        co_await rubato::with_async_scope(body);
      } catch (rubato::cancelled const&) {
        EXPECT_EQ(seen, outcome::cancelled);
      }
    });
  });
  return seen;
}

void expect_all(rubato::pool& pool, choice c, outcome expected) {
  for (kind const& k : kinds) {
    SCOPED_TRACE(k.name);
    EXPECT_EQ(of_closure(pool, k, c), expected);
    EXPECT_EQ(of_wait(pool, k, c), expected);
    EXPECT_EQ(of_coroutine(pool, k, c), expected);
    EXPECT_EQ(of_join(pool, k, c), expected);
  }
}

TEST_P(cut_scopes, regression_throw_cancelled) {
  expect_all(
      pool,
      [](rubato::scope&, rubato::scope& outer) -> stop_function {
        return [&outer] { outer.request_stop(); };
      },
      outcome::cancelled);
}

stop_function stop_both(rubato::scope& first, rubato::scope& second) {
  return [&] {
    first.request_stop();
    second.request_stop();
  };
}

TEST_P(cut_scopes, that_have_stopped_themselves_return) {
  expect_all(
      pool,
      [](rubato::scope& own, rubato::scope&) -> stop_function { return [&own] { own.request_stop(); }; },
      outcome::value);
}

TEST_P(cut_scopes, that_have_stopped_themselves_before_return) {
  expect_all(
      pool, [](rubato::scope& own, rubato::scope& outer) { return stop_both(own, outer); }, outcome::value);
}

TEST_P(cut_scopes, regression_that_stop_themselves_throw_cancelled) {
  expect_all(
      pool, [](rubato::scope& own, rubato::scope& outer) { return stop_both(outer, own); },
      outcome::cancelled);
}

TEST_P(cut_scopes, throw_a_failure_rather_than_cancelled) {
  for (kind const& k : kinds) {
    SCOPED_TRACE(k.name);
    never_ready w;
    int of_body = 0, of_coroutine = 0;
    rubato::with_scope(pool, [&](rubato::scope& outer) {
      outer.spawn([&]() -> task {
        auto const stop = [&] { outer.request_stop(); };
        auto const fails = [&]() -> task {
          stop();
          throw failure(2);
          co_return;
        };
        auto const body = [&](rubato::scope& s) -> task {
          s.spawn(fails); // the stop does not keep it from beginning: it makes it
          try {
            static_cast<void>(co_await w.future);
          } catch (rubato::cancelled const&) {
            k.add(s, stop, w);
          }
        };
        try {
          co_await rubato::with_async_scope(body);
        } catch (failure const& e) {
          of_coroutine = e.number;
        }
        of_body = failure_of([&] {
          rubato::with_scope([&](rubato::scope& s) {
            k.add(s, stop, w);
            throw failure(1);
          });
          return 0;
        });
      });
    });
    EXPECT_EQ(of_body, 1);
    EXPECT_EQ(of_coroutine, 2);
  }
}

TEST_P(cut_scopes, throw_a_childs_failure_rather_than_cancelled) {
  int number = 0;
  rubato::with_scope(pool, [&](rubato::scope& outer) {
    outer.spawn([&] {
      number = failure_of([&] {
        rubato::with_scope([&](rubato::scope& s) {
          s.spawn([&] {
            outer.request_stop();
            s.spawn(must_not_begin);
            throw failure(3);
          });
          s.wait();
        });
        return 0;
      });
    });
  });
  EXPECT_EQ(number, 3);
}

TEST_P(cut_scopes, without_a_child_that_was_cut_return) {
  bool closure = false, coroutine = false;
  rubato::with_scope(pool, [&](rubato::scope& outer) {
    outer.spawn([&]() -> task {
      rubato::with_scope([&](rubato::scope& s) { s.spawn([&] { outer.request_stop(); }); });
      closure = true;
      rubato::with_scope([](rubato::scope&) {}); // in a stopped task: there is nothing to cut
      co_await rubato::with_async_scope([](rubato::scope&) -> task { co_return; });
      coroutine = true;
    });
  });
  EXPECT_TRUE(closure);
  EXPECT_TRUE(coroutine);
}

// Deadlines

/// Children of which one waits for ever, in a scope of each kind.
task many_sleeps(std::atomic<int>& ended) {
  co_await rubato::with_async_scope(
      [](rubato::scope& s, std::atomic<int>& n) -> task {
        s.spawn([] {});
        s.spawn([](std::atomic<int>& m) -> task {
          co_await rubato::sleep_for(1h);
          ++m;
        }(n));
        co_await s.join();
      },
      std::ref(ended));
}
task many_sleeps_in_a_closure(std::atomic<int>& ended) {
  rubato::with_scope([&](rubato::scope& s) {
    s.spawn([] {});
    s.spawn([&]() -> task {
      co_await rubato::sleep_for(1h);
      ++ended;
    });
  });
  co_return;
}
rubato::task<int> counted_sleeps(std::atomic<int>& ended) {
  co_await many_sleeps(ended);
  co_return ended.load();
}

TEST_P(cut_scopes, regression_are_not_in_time) {
  std::atomic<int> ended{0};
  EXPECT_FALSE(pool.block_on(rubato::with_deadline(many_sleeps(ended), 1ms)));
  EXPECT_FALSE(pool.block_on(rubato::with_deadline(many_sleeps_in_a_closure(ended), 1ms)));
  EXPECT_FALSE(pool.block_on(rubato::with_deadline(counted_sleeps(ended), 1ms)).has_value());
  EXPECT_EQ(ended, 0);
}

TEST_P(cut_scopes, that_were_not_are_in_time) {
  auto const job = []() -> task {
    co_await rubato::with_async_scope([](rubato::scope& s) -> task {
      for (int i = 0; i != 20; ++i) s.spawn([]() -> task { co_await rubato::yield(); });
      co_return;
    });
  };
  EXPECT_TRUE(pool.block_on(rubato::with_deadline(job(), 1h)));
}

// Cancelled futures

TEST_P(cut_scopes_with_workers, regression_of_a_cancelled_future) {
  milestone in_closure, in_coroutine;
  never_ready w;
  auto f = pool.spawn([&] {
    rubato::with_scope([&](rubato::scope& s) {
      s.spawn([&] {
        in_closure.reach();
        w.future.wait();
      });
      s.wait();
    });
  });
  EXPECT_TRUE(in_closure.wait());
  f.cancel();
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  auto g = pool.spawn([&]() -> task {
    co_await rubato::with_async_scope([&](rubato::scope& s) -> task {
      s.spawn([&]() -> task {
        in_coroutine.reach();
        static_cast<void>(co_await w.future);
      });
      co_return;
    });
  });
  EXPECT_TRUE(in_coroutine.wait());
  g.cancel();
  EXPECT_EQ(outcome_of_get(g), outcome::cancelled);
}

// The end of a pool

class cut_groups : public testing::TestWithParam<unsigned> {
  hang_guard guard_;
};
RUBATO_TEST_WITH_WORKERS(cut_groups, all_counts);

template<class Add>
void expect_cut_by_discard(unsigned workers, Add add) {
  rubato::pool mine(with_workers(workers));
  never_ready w;
  rubato::task_group group(mine);
  group.spawn([&] {
    mine.request_shutdown(rubato::discard);
    w.future.wait();
  });
  add(group);
  EXPECT_EQ(outcome_of([&] { return group.wait(), 0; }), outcome::cancelled);
  EXPECT_EQ(outcome_of([&] { return group.wait(), 0; }), outcome::cancelled);
  // The destructor only waits.
}

TEST_P(cut_groups, regression_by_a_discard_throw_cancelled) {
  expect_cut_by_discard(GetParam(), [](rubato::task_group&) {});
  expect_cut_by_discard(GetParam(), [](rubato::task_group& g) {
    for (int i = 0; i != 100; ++i) g.spawn([] {});
  });
  expect_cut_by_discard(GetParam(), [](rubato::task_group& g) {
    for (int i = 0; i != 100; ++i) g.spawn([]() -> task { co_await rubato::yield(); });
  });
}

TEST_P(cut_groups, regression_by_a_drain_throw_cancelled) {
  rubato::pool mine(with_workers(GetParam()));
  rubato::task_group group(mine);
  group.spawn([&]() -> task {
    mine.request_shutdown(rubato::drain);
    co_await rubato::sleep_for(1h);
  });
  EXPECT_EQ(outcome_of([&] { return group.wait(), 0; }), outcome::cancelled);
}

TEST_P(cut_groups, that_a_drain_has_only_passed_return) {
  rubato::pool mine(with_workers(GetParam()));
  rubato::task_group group(mine);
  std::atomic<int> ran{0};
  group.spawn([&]() -> task {
    mine.request_shutdown(rubato::drain);
    co_await rubato::yield();
    ++ran;
  });
  for (int i = 0; i != 100; ++i) group.spawn([&] { ++ran; });
  EXPECT_EQ(outcome_of([&] { return group.wait(), 0; }), outcome::value);
  EXPECT_EQ(ran, 101);
}

TEST_P(cut_groups, that_have_stopped_themselves_return) {
  rubato::pool mine(with_workers(GetParam()));
  rubato::task_group group(mine);
  group.request_stop();
  group.spawn(must_not_begin);
  group.spawn(coroutine_that_must_not_begin());
  EXPECT_EQ(outcome_of([&] { return group.wait(), 0; }), outcome::value);
}

TEST_P(cut_groups, only_wait_in_their_destructor) {
  never_ready w;
  rubato::pool mine(with_workers(GetParam()));
  std::atomic<int> frames{0};
  {
    rubato::task_group group(mine);
    for (int i = 0; i != 10; ++i)
      group.spawn([&]() -> task {
        in_frame const here(frames);
        static_cast<void>(co_await w.future);
      });
    group.spawn([&] { mine.request_shutdown(rubato::discard); });
  }
  EXPECT_EQ(frames, 0);
}

} // namespace
