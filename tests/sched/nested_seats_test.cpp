// A thread that waits leaves every seat that it holds, in all pools that it is a member of.
#include <rubato/future.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "support/hang_guard.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

rubato::pool_options one_worker() { return rubato::pool_options().workers(1).spares(0); }

TEST(nested_seats, regression_an_inner_wait_lets_outer_work_end) {
  hang_guard const guard;
  rubato::pool a(one_worker()), b(one_worker());
  for (int round = 0; round != 100; ++round) {
    int const got = a.run([&] { return b.run([&] { return a.spawn([] { return 7; }).get(); }); });
    EXPECT_EQ(got, 7);
  }
  EXPECT_EQ(a.stats().relieved + b.stats().relieved, 0u); // no task had to wait for relief
}

TEST(nested_seats, regression_three_pools_deep_and_in_a_scope) {
  hang_guard const guard;
  rubato::pool a(one_worker()), b(one_worker()), c(one_worker());
  std::atomic<unsigned> ran = 0;
  a.run([&] {
    b.run([&] {
      c.run([&] {
        a.spawn([&] { ++ran; }).get();
        b.spawn([&] { ++ran; }).get();
        rubato::with_scope(a, [&](rubato::scope& s) { s.spawn_on(0, [&] { ++ran; }); });
      });
    });
  });
  EXPECT_EQ(ran, 3u);
}

TEST(nested_seats, regression_blocking_leaves_them_as_well) {
  hang_guard const guard;
  rubato::pool a(one_worker()), b(one_worker());
  gate opened;
  bool const passed = a.run([&] {
    return b.run([&] {
      a.enqueue([&] { opened.open(); });
      return rubato::blocking([&] { return opened.wait(); });
    });
  });
  EXPECT_TRUE(passed);
}

TEST(nested_seats, regression_broadcasts_below_another_pool_end) {
  hang_guard const guard;
  rubato::pool a(2), b(2);
  for (int round = 0; round != 50; ++round) {
    rubato_test::rendezvous both(2);
    std::atomic<unsigned> ran = 0;
    std::vector<rubato::future<void>> all;
    for (unsigned i = 0; i != 2; ++i)
      all.push_back(a.spawn([&] {
        static_cast<void>(both.meet());
        b.run([&] { a.broadcast([&] { ++ran; }); });
      }));
    for (auto& f : all) f.get();
    EXPECT_EQ(ran, 4u);
  }
}

TEST(nested_seats, regression_a_worker_is_seated_again_later) {
  hang_guard const guard;
  rubato::pool a(1), b(1);
  std::atomic<unsigned> inside = 0, most = 0;
  std::vector<rubato::future<void>> all;
  for (int i = 0; i != 50; ++i)
    all.push_back(a.spawn([&] {
      b.run([&] { b.spawn([] {}).get(); });
      unsigned const now = ++inside;
      if (now > most) most = now;
      --inside;
    }));
  for (auto& f : all) f.get();
  EXPECT_TRUE(a.wait_idle());
  EXPECT_TRUE(b.wait_idle());
  EXPECT_EQ(a.stats().seats.size(), 1u);
}

} // namespace
