// Which pool, which worker: current_pool, current_worker, slots.
#include <rubato/join.hpp>
#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "support/scale.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;

TEST(current_worker, is_nothing_outside_of_any_pool) {
  EXPECT_FALSE(rubato::current_worker().has_value());
  EXPECT_EQ(rubato::current_pool(), nullptr);
  rubato::pool pool(2);
  pool.enqueue([] {});
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_FALSE(rubato::current_worker().has_value());
  std::jthread([] { EXPECT_FALSE(rubato::current_worker().has_value()); });
}

/// Finds out whether two threads ever have one number at the same time.
class numbers_in_use {
  std::vector<std::atomic<int>> users_;
  std::atomic<int> clashes_ = 0;

public:
  explicit numbers_in_use(rubato::pool const& pool)
      : users_(pool.slots()) {}

  template<class F>
  void during(F&& work) {
    std::optional<unsigned> const mine = rubato::current_worker();
    if (!mine || *mine >= users_.size()) {
      ++clashes_;
      return;
    }
    if (users_[*mine].fetch_add(1) != 0) ++clashes_;
    work();
    if (rubato::current_worker() != mine) ++clashes_;
    users_[*mine].fetch_sub(1);
  }
  int clashes() const { return clashes_; }
};

TEST(current_worker, is_unique_and_constant_among_all_that_run) {
  // Tasks that wait give their seats to spares, relief comes, outside threads are guests: more threads than
  // seats.
  rubato::pool pool(2);
  numbers_in_use numbers(pool);
  std::atomic<unsigned> done = 0;
  unsigned const n = scaled(400);
  std::vector<std::jthread> guests;
  for (int t = 0; t < 3; ++t) {
    guests.emplace_back([&] {
      for (unsigned i = 0; i < n / 4; ++i) pool.run([&] { numbers.during([] { forked_sum(0, 20); }); });
    });
  }
  for (unsigned i = 0; i < n; ++i) {
    pool.enqueue([&, i] {
      numbers.during([i] {
        if (i % 3 == 0) rubato::blocking([] { std::this_thread::sleep_for(200us); });
        if (i % 3 == 1) forked_sum(0, 100);
        if (i % 50 == 2) std::this_thread::sleep_for(15ms); // without a word: relief may come
      });
      ++done;
    });
  }
  guests.clear();
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(done, n);
  EXPECT_EQ(numbers.clashes(), 0);
}

TEST(current_worker, is_unique_while_the_pool_is_resized) {
  rubato::pool pool(2);
  numbers_in_use numbers(pool);
  std::atomic<unsigned> done = 0;
  unsigned const n = scaled(3'000);
  for (unsigned i = 0; i < n; ++i) {
    pool.enqueue([&] {
      numbers.during([] { std::this_thread::yield(); });
      ++done;
    });
    if (i % 7 == 0) pool.resize(i / 7 % 9);
  }
  pool.resize(2);
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(done, n);
  EXPECT_EQ(numbers.clashes(), 0);
}

TEST(current_worker, stays_the_same_through_all_that_a_task_may_do) {
  rubato::pool pool(2), other(1);
  std::atomic<int> same = 0;
  for (int i = 0; i < 20; ++i) {
    pool.enqueue([&] {
      auto const mine = rubato::current_worker();
      same += mine.has_value();
      forked_sum(0, 200);
      same += rubato::current_worker() == mine;
      rubato::blocking([] { std::this_thread::sleep_for(100us); });
      same += rubato::current_worker() == mine;
      pool.run([] {});
      same += rubato::current_worker() == mine;
      other.run([] { forked_sum(0, 20); });
      same += rubato::current_worker() == mine;
      pool.broadcast([] {});
      same += rubato::current_worker() == mine;
      try {
        rubato::join([]() -> int { throw 1; }, [] { return 2; });
      } catch (int) {
      }
      same += rubato::current_worker() == mine;
    });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(same, 140);
}

TEST(current_pool, is_the_one_whose_task_runs) {
  rubato::pool a(1), b(1);
  std::atomic<int> right = 0;
  a.enqueue([&] {
    right += rubato::current_pool() == &a;
    b.enqueue([&] { right += rubato::current_pool() == &b; });
    rubato::blocking([&] { right += rubato::current_pool() == &a; });
  });
  EXPECT_TRUE(a.wait_idle());
  EXPECT_TRUE(b.wait_idle());
  EXPECT_EQ(right, 3);
}

TEST(slots, is_an_upper_bound_that_never_changes) {
  rubato::pool pool(2);
  unsigned const slots = pool.slots();
  EXPECT_GE(slots, 1'024u) << "there may be that many workers";
  pool.enqueue([] {});
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(pool.slots(), slots);
  pool.resize(40);
  pool.enqueue([] {});
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(pool.slots(), slots);
  pool.shutdown();
  EXPECT_EQ(pool.slots(), slots);
}

TEST(slots, has_room_for_every_spare) {
  rubato::pool const few(rubato::pool_options().workers(1).spares(0));
  rubato::pool const many(rubato::pool_options().workers(1).spares(500));
  EXPECT_GE(many.slots(), few.slots() + 500);
}

TEST(slots, of_a_lazy_pool_are_known_before_its_first_use) {
  rubato::pool pool;
  unsigned const slots = pool.slots();
  pool.enqueue([] {});
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(pool.slots(), slots);
}

} // namespace
