// join_as_member: an outside thread works in the pool for the length of a scope of code.
#include <rubato/pool.hpp>
#include <rubato/routine.hpp>
#include <rubato/time.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "support/hang_guard.hpp"
#include "support/trees.hpp"
#include "support/waiting.hpp"
#include "support/with_workers.hpp"

namespace {

using namespace rubato_test;

TEST(membership, lasts_as_long_as_its_object) {
  for (unsigned workers : {0u, 1u, 4u}) {
    SCOPED_TRACE(workers);
    rubato::pool pool(rubato_test::with_workers(workers));
    {
      [[maybe_unused]] auto const member = pool.join_as_member();
      EXPECT_EQ(rubato::current_pool(), &pool);
      ASSERT_TRUE(rubato::current_worker().has_value());
      EXPECT_LT(*rubato::current_worker(), pool.slots());
      EXPECT_EQ(forked_sum(0, 500), sum_below(500));
    }
    EXPECT_EQ(rubato::current_pool(), nullptr);
    EXPECT_FALSE(rubato::current_worker().has_value());
  }
}

TEST(membership, ends_when_an_exception_leaves_its_scope) {
  rubato::pool pool(1);
  try {
    [[maybe_unused]] auto const member = pool.join_as_member();
    throw std::runtime_error("out");
  } catch (std::runtime_error const&) {
    EXPECT_EQ(rubato::current_pool(), nullptr);
  }
  EXPECT_TRUE(pool.wait_idle());
}

TEST(membership, sends_free_functions_to_its_pool) {
  rubato::pool pool(1);
  std::atomic<rubato::pool*> seen = nullptr;
  {
    [[maybe_unused]] auto const member = pool.join_as_member();
    rubato::enqueue([&] { seen = rubato::current_pool(); });
  }
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_EQ(seen, &pool);
}

TEST(membership, in_another_pool_inside_gives_the_outer_one_back) {
  rubato::pool a(1), b(2);
  [[maybe_unused]] auto const outer = a.join_as_member();
  auto const number = rubato::current_worker();
  {
    [[maybe_unused]] auto const inner = b.join_as_member();
    EXPECT_EQ(rubato::current_pool(), &b);
    {
      [[maybe_unused]] auto const again = a.join_as_member();
      EXPECT_EQ(rubato::current_pool(), &a);
    }
    EXPECT_EQ(rubato::current_pool(), &b);
  }
  EXPECT_EQ(rubato::current_pool(), &a);
  EXPECT_EQ(rubato::current_worker(), number);
}

TEST(membership, is_open_to_many_threads_whatever_the_seats) {
  rubato::pool pool(1);
  rendezvous all(6);
  std::atomic<int> met = 0;
  {
    std::vector<std::jthread> members;
    for (int i = 0; i < 6; ++i) {
      members.emplace_back([&] {
        [[maybe_unused]] auto const member = pool.join_as_member();
        met += all.meet();
      });
    }
  }
  EXPECT_EQ(met, 6);
}

TEST(membership, does_not_stop_the_pool_from_running_tasks) {
  // The member may sit on the only seat, and computes. Its enqueued task needs a thread none the less.
  rubato::pool pool(1);
  std::atomic<bool> ran = false;
  [[maybe_unused]] auto const member = pool.join_as_member();
  pool.enqueue([&] { ran = true; });
  EXPECT_TRUE(computing_until([&] { return ran.load(); }));
}

TEST(membership, of_a_pool_that_is_resized_meanwhile_ends_well) {
  rubato::pool pool(2);
  for (unsigned round = 0; round < 200; ++round) {
    {
      [[maybe_unused]] auto const member = pool.join_as_member();
      pool.resize(round % 4);
      EXPECT_EQ(forked_sum(0, 50), sum_below(50));
    }
    ASSERT_EQ(rubato::current_pool(), nullptr);
  }
  pool.resize(1);
  std::atomic<bool> ran = false;
  pool.enqueue([&] { ran = true; });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(ran);
}

TEST(membership, regression_of_a_nested_guest_passes_to_no_other) {
  rubato::pool other(1), pool(1);
  gate left, looked;
  other.enqueue([&] {
    pool.run([] {});
    left.open();
  });
  ASSERT_TRUE(left.wait());
  std::atomic<bool> allowed = false;
  pool.enqueue([&] { rubato::blocking([&] { looked.wait(); }); });
  pool.enqueue([&] { // on a spare, which has the number that the guest had
    try {
      allowed = other.wait_idle();
    } catch (std::system_error const&) {
      allowed = false; // taken for a task of the other pool
    }
    looked.open();
  });
  EXPECT_TRUE(pool.wait_idle());
  EXPECT_TRUE(allowed);
}

/// Members on all seats of a pool, asleep in the kernel.
class asleep_members {
  gate out_;
  std::atomic<unsigned> in_ = 0;
  std::vector<std::jthread> threads_;

public:
  explicit asleep_members(rubato::pool& pool) {
    for (unsigned i = 0; i != pool.size(); ++i)
      threads_.emplace_back([&] {
        [[maybe_unused]] auto const member = pool.join_as_member();
        ++in_;
        out_.wait();
      });
    EXPECT_TRUE(eventually([&] { return in_ == pool.size(); }));
  }
  asleep_members(asleep_members const&) = delete;
  ~asleep_members() { out_.open(); }
};

class regression_sleepers : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, regression_sleepers, testing::Values(1u, 2u, 33u),
                         testing::PrintToStringParamName());

TEST_P(regression_sleepers, do_not_keep_work_of_their_seats_waiting) {
  rubato_test::hang_guard const guard;
  rubato::pool pool(GetParam());
  asleep_members const asleep(pool);
  std::atomic<unsigned> calls = 0;
  for (unsigned i = 0; i != pool.size(); ++i) pool.spawn_on(i, [&] { ++calls; }).get();
  EXPECT_EQ(calls, GetParam());
  pool.broadcast([&] { ++calls; });
  EXPECT_EQ(calls, 2 * GetParam());
}

TEST_P(regression_sleepers, do_not_keep_coroutines_of_seats_waiting) {
  rubato_test::hang_guard const guard;
  rubato::pool pool(GetParam());
  rubato::event set;
  std::atomic<unsigned> waiting = 0;
  auto const wait = [&]() -> rubato::task<void> {
    ++waiting;
    co_await set.wait();
    co_await rubato::sleep_for(1ms);
  };
  std::vector<rubato::future<void>> bound_to_seats;
  for (unsigned i = 0; i != pool.size(); ++i) bound_to_seats.push_back(pool.spawn_on(i, wait()));
  ASSERT_TRUE(eventually([&] { return waiting == pool.size(); }));
  asleep_members const asleep(pool);
  set.set();
  for (auto& f : bound_to_seats) f.get();
}

// A flood that is bound to the seat, and one for any thread: the substitute runs both.
TEST_P(regression_sleepers, are_relieved_for_all_that_is_ready) {
  rubato_test::hang_guard const guard;
  rubato::pool pool(GetParam());
  asleep_members const asleep(pool);
  std::atomic<bool> end = false;
  std::atomic<unsigned> done = 0;
  auto const yield_to_the_end = [&]() -> rubato::task<void> {
    while (!end) co_await rubato::yield();
  };
  std::vector<rubato::future<void>> floods;
  for (unsigned i = 0; i != pool.size(); ++i) floods.push_back(pool.spawn_on(i, yield_to_the_end()));
  floods.push_back(pool.spawn(yield_to_the_end()));
  pool.enqueue([&] { ++done; });
  pool.spawn_on(0, [&] { ++done; }).detach();
  EXPECT_TRUE(eventually([&] { return done == 2; }));
  end = true;
  for (auto& f : floods) f.get();
}

} // namespace
