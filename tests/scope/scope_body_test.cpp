// The first failure of a scope stops its body too: the token that it sees, and its waits.
#include <gtest/gtest.h>

#include "support/never_ready.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/values.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>

using namespace rubato_test;

namespace {

class scope_bodies : public on_workers {};
RUBATO_TEST_WITH_WORKERS(scope_bodies, all_counts);

struct first_failure : std::runtime_error {
  first_failure()
      : runtime_error("the child's") {}
};

using task = rubato::task<>;
/// Waits until it is stopped, and throws cancelled then.
using wait_kind = task (*)(never_ready&);

task receives(never_ready& w) {
  auto value = co_await w.channel.receive();
  EXPECT_FALSE(value.has_value());
  throw rubato::cancelled();
}
task gets(never_ready& w) { static_cast<void>(co_await w.future); }
task sleeps(never_ready& /*w*/) { co_await rubato::sleep_for(std::chrono::hours(1)); }
task locks(never_ready& w) { co_await w.mutex.acquire(); }
task yields(never_ready& /*w*/) {
  std::stop_token const stop = rubato::this_task_stop_token();
  while (!stop.stop_requested()) co_await rubato::yield();
  throw rubato::cancelled();
}
task nests(never_ready& w) {
  co_await rubato::with_async_scope(
      [](rubato::scope& s, never_ready& inner) -> task {
        s.spawn(gets(inner));
        s.spawn(sleeps(inner));
        co_await receives(inner);
      },
      std::ref(w));
}
task nests_and_goes_on(never_ready& w) {
  // The inner scope ends; what the body waits for afterwards listens to the outer one.
  co_await rubato::with_async_scope([](rubato::scope& s) -> task {
    s.spawn([] {});
    co_await rubato::yield();
  });
  co_await gets(w);
}
task awaits_both(never_ready& w) { co_await rubato::when_all(gets(w), locks(w)); }
task races(never_ready& w) { static_cast<void>(co_await rubato::when_any(gets(w), receives(w))); }

struct kind {
  char const* name;
  wait_kind wait;
};
constexpr kind kinds[] = {{"receive", receives},
                          {"get", gets},
                          {"sleep", sleeps},
                          {"lock", locks},
                          {"yield", yields},
                          {"nested scope", nests},
                          {"after a nested scope", nests_and_goes_on},
                          {"when_all", awaits_both},
                          {"when_any", races}};

/// Says when the body waits, or is just about to.
task then(milestone& about_to, wait_kind wait, never_ready& w) {
  about_to.reach();
  co_await wait(w);
}

TEST_P(scope_bodies, regression_of_coroutines_stop_if_a_child_fails) {
  for (auto const& k : kinds) {
    SCOPED_TRACE(k.name);
    never_ready w;
    EXPECT_THROW(pool.block_on(rubato::with_async_scope(
                     [](rubato::scope& s, wait_kind wait, never_ready& v) -> task {
                       s.spawn([]() -> task {
                         co_await rubato::yield();
                         throw first_failure();
                       });
                       co_await wait(v);
                     },
                     k.wait, std::ref(w))),
                 first_failure);
  }
}

TEST_P(scope_bodies, regression_of_coroutines_are_stopped_by_hand) {
  for (auto const& k : kinds) {
    SCOPED_TRACE(k.name);
    never_ready w;
    EXPECT_THROW(pool.block_on(rubato::with_async_scope(
                     [](rubato::scope& s, wait_kind wait, never_ready& v) -> task {
                       s.spawn([&s]() -> task {
                         s.request_stop();
                         co_return;
                       });
                       co_await wait(v);
                     },
                     k.wait, std::ref(w))),
                 rubato::cancelled);
  }
}

TEST_P(scope_bodies, regression_of_closures_stop_if_a_child_fails) {
  for (auto const& k : kinds) {
    if (k.wait == yields) continue; // queued again and again, it goes before a closure of a scope
    SCOPED_TRACE(k.name);
    never_ready w;
    EXPECT_THROW(rubato::with_scope(pool,
                                    [&](rubato::scope& s) {
                                      s.spawn([] { throw first_failure(); });
                                      pool.block_on(k.wait(w));
                                    }),
                 first_failure);
  }
}

TEST_P(scope_bodies, regression_of_closures_await_no_foreign_work) {
  rubato::promise<int> never;
  rubato::future<int> result = never.get_future();
  EXPECT_THROW(rubato::with_scope(pool,
                                  [&](rubato::scope& s) {
                                    s.spawn([] { throw first_failure(); });
                                    result.wait();
                                  }),
               first_failure);
  EXPECT_TRUE(result.valid());
  EXPECT_THROW(rubato::with_scope(pool,
                                  [&](rubato::scope& s) {
                                    s.spawn([&s] { s.request_stop(); });
                                    static_cast<void>(result.get());
                                  }),
               rubato::cancelled);
}

TEST_P(scope_bodies, regression_that_return_a_task_are_stopped) {
  for (auto const& k : kinds) {
    if (k.wait == yields) continue; // queued again and again, it goes before a closure of a scope
    SCOPED_TRACE(k.name);
    never_ready w;
    EXPECT_THROW(rubato::with_scope(pool,
                                    [&](rubato::scope& s) {
                                      s.spawn([] { throw first_failure(); });
                                      return k.wait(w);
                                    }),
                 first_failure);
  }
}

TEST_P(scope_bodies, regression_nest_blocking_scopes) {
  never_ready w;
  EXPECT_THROW(rubato::with_scope(pool,
                                  [&](rubato::scope& s) {
                                    s.spawn([] { throw first_failure(); });
                                    rubato::with_scope([&](rubato::scope& inner) {
                                      inner.spawn([&] { static_cast<void>(w.future.get()); });
                                      inner.spawn(gets(w));
                                    });
                                    // Its children were told to stop, which is no failure of it.
                                    static_cast<void>(w.future.get());
                                  }),
               first_failure);
}

TEST_P(scope_bodies, regression_end_their_loops) {
  EXPECT_THROW(rubato::with_scope(pool,
                                  [&](rubato::scope& s) {
                                    milestone failed;
                                    s.spawn([&] {
                                      failed.reach();
                                      throw first_failure();
                                    });
                                    if (pool.size() < 2) return s.wait(); // only a waiter would run the child
                                    EXPECT_TRUE(failed.wait());
                                    rubato::for_index(0L, 1'000'000'000'000L, [](long) {});
                                  }),
               first_failure);
}

TEST_P(scope_bodies, regression_see_the_stop_in_their_token) {
  EXPECT_THROW(rubato::with_scope(pool,
                                  [&](std::stop_token given, rubato::scope& s) {
                                    std::stop_token const mine = rubato::this_task_stop_token();
                                    std::stop_token inner;
                                    rubato::join([&] { inner = rubato::this_task_stop_token(); }, [] {});
                                    EXPECT_FALSE(mine.stop_requested());
                                    s.spawn([] { throw first_failure(); });
                                    EXPECT_THROW(s.wait(), first_failure);
                                    EXPECT_TRUE(given.stop_requested());
                                    EXPECT_TRUE(mine.stop_requested());
                                    EXPECT_TRUE(inner.stop_requested());
                                    EXPECT_TRUE(rubato::this_task_stop_token().stop_requested());
                                    throw first_failure();
                                  }),
               first_failure);
  pool.run([] { EXPECT_FALSE(rubato::this_task_stop_token().stop_requested()); });
}

TEST_P(scope_bodies, regression_see_the_stop_in_a_coroutines_token) {
  bool in_body = false, after = true;
  auto const around = [&]() -> task {
    std::stop_token before = rubato::this_task_stop_token();
    try {
      co_await rubato::with_async_scope([&](rubato::scope& s) -> task {
        std::stop_token const mine = rubato::this_task_stop_token();
        EXPECT_FALSE(mine.stop_requested());
        s.spawn([]() -> task {
          co_await rubato::yield();
          throw first_failure();
        });
        while (!mine.stop_requested()) co_await rubato::yield();
        in_body = rubato::this_task_stop_token().stop_requested();
      });
      ADD_FAILURE();
    } catch (first_failure const&) { // NOLINT(bugprone-empty-catch)
    }
    after = rubato::this_task_stop_token().stop_requested() || before.stop_requested();
    co_await rubato::sleep_for(std::chrono::milliseconds(1)); // nothing ends it
    after = after || rubato::this_task_stop_token().stop_requested();
  };
  pool.block_on(around());
  EXPECT_TRUE(in_body);
  EXPECT_FALSE(after);
}

TEST_P(scope_bodies, hear_the_stop_of_the_task_around) {
  for (auto const& k : kinds) {
    SCOPED_TRACE(k.name);
    never_ready w;
    milestone waits;
    rubato::future<void> f = pool.spawn([&]() -> task {
      co_await rubato::with_async_scope([&](rubato::scope&) -> task { co_await then(waits, k.wait, w); });
    });
    if (pool.size() == 0) {
      f.cancel();
    } else {
      EXPECT_TRUE(waits.wait());
      f.cancel();
    }
    EXPECT_THROW(f.get(), rubato::cancelled);
  }
}

TEST_P(scope_bodies, throw_what_came_first) {
  // The body's failure follows from the child's.
  EXPECT_THROW(rubato::with_scope(pool,
                                  [&](rubato::scope& s) {
                                    rubato::channel<int> c(1);
                                    s.spawn([] { throw first_failure(); });
                                    if (!pool.block_on(c.receive())) throw std::logic_error("nothing came");
                                  }),
               first_failure);
  // The child's from the body's.
  EXPECT_THROW(rubato::with_scope(pool,
                                  [&](rubato::scope& s) {
                                    s.spawn([&]() -> task {
                                      rubato::channel<int> c(1);
                                      auto const value = co_await c.receive();
                                      if (!value) throw std::logic_error("nothing came");
                                    });
                                    throw first_failure();
                                  }),
               first_failure);
}

TEST_P(scope_bodies, that_have_ended_are_not_concerned) {
  bool moved = false;
  EXPECT_THROW(rubato::with_scope(pool,
                                  [&](rubato::scope& s) {
                                    s.spawn([] { throw first_failure(); });
                                    moved = true;
                                    return 1;
                                  }),
               first_failure);
  EXPECT_TRUE(moved);
}

TEST_P(scope_bodies, may_move_between_pools) {
  rubato::pool other(1);
  never_ready w;
  EXPECT_THROW(pool.block_on(rubato::with_async_scope(
                   [](rubato::scope& s, rubato::pool& there, rubato::pool& home, never_ready& v) -> task {
                     co_await rubato::resume_on(there);
                     std::stop_token const mine = rubato::this_task_stop_token();
                     s.spawn([]() -> task {
                       co_await rubato::yield();
                       throw first_failure();
                     });
                     while (!mine.stop_requested()) co_await rubato::yield();
                     co_await rubato::resume_on(home);
                     co_await gets(v);
                   },
                   std::ref(other), std::ref(pool), std::ref(w))),
               first_failure);
}

TEST_P(scope_bodies, may_be_destroyed_where_they_wait) {
  auto w = std::make_shared<never_ready>();
  std::atomic<int> frames{0};
  {
    rubato::pool mine(rubato_test::with_workers(GetParam()));
    auto const waits = [](std::shared_ptr<never_ready> v, std::atomic<int>& n) -> task {
      in_frame const outer(n);
      co_await rubato::with_async_scope(
          [](rubato::scope&, never_ready& u, std::atomic<int>& m) -> task {
            in_frame const inner(m);
            co_await rubato::with_async_scope(
                [](rubato::scope&, never_ready& t, std::atomic<int>& k) -> task {
                  in_frame const innermost(k);
                  co_await receives(t);
                },
                std::ref(u), std::ref(m));
          },
          std::ref(*v), std::ref(n));
    };
    mine.enqueue([&waits, w, &frames] { return waits(w, frames); });
    static_cast<void>(mine.wait_idle());
    EXPECT_EQ(frames, 3);
  }
  EXPECT_EQ(frames, 0);
}

} // namespace
