// Losers that a hedge leaves behind: what they own, what they cost, and how a pool ends with them.
#include <gtest/gtest.h>

#include "hedge/calls.hpp"
#include "support/counting.hpp"
#include "support/hang_guard.hpp"
#include "support/pools.hpp"
#include "support/rendezvous.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

using namespace rubato_test;
using rubato::race_options;
using rubato::race_report;
using outcome = race_report::outcome;

namespace {

/// The first copy to come wins; the others stall until they are released, without a look at a token.
struct stalls {
  std::shared_ptr<std::atomic<int>> next = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<arrivals> stalled = std::make_shared<arrivals>();
  std::shared_ptr<milestone> released = std::make_shared<milestone>();
  int losers;
  explicit stalls(int n)
      : losers(n) {}
  int operator()() const {
    if (next->fetch_add(1) == 0) {
      EXPECT_TRUE(stalled->wait_for(static_cast<std::size_t>(losers)));
      return 1;
    }
    stalled->arrive();
    EXPECT_TRUE(released->wait());
    return 2;
  }
};

class losers : public on_workers {};
RUBATO_TEST_WITH_WORKERS(losers, all_counts);

TEST_P(losers, that_stall_do_not_hold_up_the_hedge) {
  stalls const f(2);
  race_report report;
  EXPECT_EQ(rubato::hedge(pool, unpinned(3).report(&report), f), 1);
  EXPECT_EQ(pool.stats().stragglers, 2U);
  unsigned running = 0;
  for (auto const& c : report.copies) running += c.what == outcome::running ? 1U : 0U;
  EXPECT_EQ(running, 2U);
  f.released->reach();
  EXPECT_TRUE(eventually([&] { return pool.stats().stragglers == 0; }));
}
TEST_P(losers, hold_no_seat) {
  if (GetParam() == 0) return; // there is none
  unsigned const n = 2 * GetParam();
  stalls const f(static_cast<int>(n));
  EXPECT_EQ(rubato::hedge(pool, unpinned(n + 1), f), 1);
  // All workers run, although more losers stall than there are workers.
  auto const all = std::make_shared<rendezvous>(GetParam());
  std::vector<rubato::future<bool>> tasks;
  for (unsigned i = 0; i != GetParam(); ++i) tasks.push_back(pool.spawn([all] { return all->meet(); }));
  for (auto& t : tasks) EXPECT_TRUE(t.get());
  f.released->reach();
}
TEST_P(losers, keep_what_the_function_owns) {
  census owned;
  {
    stalls const f(1);
    EXPECT_EQ(rubato::hedge(pool, unpinned(2), [f, mine = owned.enrol()] { return f(); }), 1);
    EXPECT_GE(owned.alive(), 1);
    f.released->reach();
  }
  EXPECT_TRUE(eventually([&] { return owned.alive() == 0; }));
}
TEST_P(losers, are_used_again) {
  for (std::size_t i = 0; i != scaled(50); ++i) {
    stalls const f(2);
    EXPECT_EQ(rubato::hedge(pool, unpinned(3), f), 1);
    f.released->reach();
    EXPECT_TRUE(eventually([&] { return pool.stats().stragglers == 0; }));
    EXPECT_TRUE(pool.wait_idle());
  }
  EXPECT_LE(pool.stats().spares, 8U);
}
TEST_P(losers, destroy_the_callable_once_after_the_last_copy) {
  struct owner {
    std::shared_ptr<std::atomic<int>> inside = std::make_shared<std::atomic<int>>(0);
    std::shared_ptr<std::atomic<int>> bad = std::make_shared<std::atomic<int>>(0);
    struct watch {
      std::atomic<int>*in, *wrong;
      ~watch() {
        if (in->load() != 0) ++*wrong;
      }
    };
  };
  for (std::size_t i = 0; i != scaled(500); ++i) {
    owner const o;
    auto watched = std::shared_ptr<owner::watch>(new owner::watch{o.inside.get(), o.bad.get()},
                                                 [o](owner::watch* w) { delete w; });
    rubato::hedge(pool, unpinned(3), [w = std::move(watched)] {
      ++*w->in;
      std::this_thread::yield();
      --*w->in;
    });
    EXPECT_EQ(*o.bad, 0);
  }
}
TEST_P(losers, are_asked_to_stop) {
  auto const stopped = std::make_shared<arrivals>();
  auto const both = std::make_shared<rendezvous>(2);
  auto const first = std::make_shared<std::atomic<bool>>(true);
  rubato::hedge(pool, unpinned(2), [=](std::stop_token stop) {
    EXPECT_TRUE(both->meet());
    if (first->exchange(false)) return;
    EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
    stopped->arrive();
  });
  EXPECT_TRUE(stopped->wait_for(1));
}
TEST_P(losers, may_throw) {
  auto const both = std::make_shared<rendezvous>(2);
  auto const first = std::make_shared<std::atomic<bool>>(true);
  EXPECT_EQ(rubato::hedge(pool, unpinned(2),
                          [=](std::stop_token stop) {
                            EXPECT_TRUE(both->meet());
                            if (first->exchange(false)) return 1;
                            EXPECT_TRUE(eventually([&] { return stop.stop_requested(); }));
                            throw 2;
                          }),
            1);
  EXPECT_TRUE(pool.wait_idle());
}

TEST(last_losers, are_waited_for) {
  for (unsigned const workers : {0U, 1U, 2U, 33U}) {
    hang_guard const guard;
    stalls const f(2);
    std::optional<rubato::pool> pool(std::in_place, rubato_test::with_workers(workers));
    EXPECT_EQ(rubato::hedge(*pool, unpinned(3), f), 1);
    std::atomic<bool> over{false};
    std::thread ender([&] {
      pool.reset();
      EXPECT_TRUE(over);
    });
    over = true;
    f.released->reach();
    ender.join();
    EXPECT_EQ(f.next.use_count(), 1); // the hedge has destroyed its copy of f
  }
}

/// Its end counts it off in the pool of the call, which is gone, or has a new one at its address.
TEST(last_losers, regression_may_have_moved_to_another_pool) {
  hang_guard const guard;
  rubato::pool other(2);
  for (int round = 0; round != 10; ++round) {
    auto mortal = std::make_unique<rubato::pool>(2);
    auto const calls = std::make_shared<std::atomic<int>>(0);
    auto const gone = std::make_shared<rubato_test::gate>();
    int const r =
        mortal->block_on(rubato::async_hedge(unpinned(2), [calls, gone, &other]() -> rubato::task<int> {
          if ((*calls)++ != 0) {
            co_await rubato::sleep_for(std::chrono::milliseconds(1));
            co_return 2;
          }
          co_await rubato::resume_on(other);
          EXPECT_TRUE(gone->wait());
          co_return 1;
        }));
    EXPECT_EQ(r, 2);
    mortal.reset();
    rubato::pool const next(1);
    gone->open();
    EXPECT_TRUE(other.wait_idle());
    EXPECT_EQ(next.stats().stragglers, 0U);
  }
}

TEST(callers_of_hedge, leave_their_seat) {
  hang_guard const guard;
  rubato::pool pool(1);
  // The copy needs the only worker's seat for what it spawns, while the worker waits in hedge().
  EXPECT_EQ(pool.spawn([] {
                  return rubato::hedge(unpinned(2), [] { return rubato::spawn([] { return 3; }).get(); });
                })
                .get(),
            3);
}

} // namespace
