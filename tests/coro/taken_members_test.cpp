// Members of a group that a thief takes several at a time: the others are latent in its chain while one runs.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/tally.hpp"
#include "support/values.hpp"
#include "support/waiting.hpp"

namespace {

using namespace rubato_test;
using namespace std::chrono_literals;

class taken_members : public on_workers {};
RUBATO_TEST_WITH_WORKERS(taken_members, counts_in_parallel);

constexpr std::size_t some = 60; // a few shares
constexpr std::size_t first = 0; // runs in place, and holds its thread until the others have ended

/// A group whose first member keeps its thread, so that all others are taken.
struct held_group {
  std::size_t members;
  std::atomic<std::size_t> ended{0};
  tally begun{members};

  explicit held_group(std::size_t n)
      : members(n) {}
  [[nodiscard]] bool others_have_ended() {
    return eventually([this] { return ended == members - 1; });
  }
  template<class F>
  rubato::task<counted> member(std::size_t i, F const& f) {
    begun.hit(i);
    if (i == first) {
      EXPECT_TRUE(others_have_ended());
    } else {
      co_await f(i);
      ++ended;
    }
    co_return counted(static_cast<int>(i));
  }
  /// f(i) makes the work of member i.
  template<class F>
  rubato::task<std::vector<counted>> all(F const& f) {
    std::vector<rubato::task<counted>> tasks;
    for (std::size_t i = 0; i != members; ++i) tasks.push_back(member(i, f));
    co_return co_await rubato::when_all(std::move(tasks));
  }
};

rubato::task<> nothing() { co_return; }

/// member(i, a value) makes member i.
template<class Member>
rubato::task<> await_all(Member const& member) {
  std::vector<rubato::task<counted>> tasks;
  for (std::size_t i = 0; i != some; ++i) tasks.push_back(member(i, counted(1)));
  co_await rubato::when_all(std::move(tasks));
}

void expect_all(std::vector<counted> const& results, std::size_t n) {
  ASSERT_EQ(results.size(), n);
  for (std::size_t i = 0; i != n; ++i) ASSERT_EQ(results[i].value, static_cast<int>(i));
}

TEST_P(taken_members, run_once) {
  leak_check const none_left;
  for (std::size_t const n :
       {std::size_t{2}, std::size_t{3}, some, sized(10'000)}) { // more than a chain holds
    held_group g(n);
    expect_all(pool.block_on(g.all([](std::size_t) { return nothing(); })), n);
    g.begun.expect_each_once();
  }
}

TEST_P(taken_members, fork_groups_of_their_own) {
  held_group outer(some);
  auto const inner = [](std::size_t) -> rubato::task<> {
    std::vector<rubato::task<>> tasks;
    for (int i = 0; i != 20; ++i) tasks.push_back(nothing());
    co_await rubato::when_all(std::move(tasks));
  };
  expect_all(pool.block_on(outer.all(inner)), some);
  outer.begun.expect_each_once();
}

/// Member i waits for member i - 1, or i + 1: of any share some wait for others of the share.
TEST_P(taken_members, may_wait_for_each_other) {
  for (bool const upwards : {false, true}) {
    held_group g(some);
    std::vector<rubato::promise<void>> ends(some);
    std::vector<rubato::shared_future<void>> ended;
    for (auto& p : ends) ended.push_back(p.get_future().share());
    auto const waits = [&](std::size_t i) -> rubato::task<> {
      std::size_t const other = upwards ? i + 1 : i - 1;
      if (other != first && other != some) co_await ended[other];
      ends[i].set_value();
    };
    expect_all(pool.block_on(g.all(waits)), some);
  }
}

/// A member that waits for another one of its share occupies the thread in whose chain that is latent.
TEST_P(taken_members, go_on_beside_one_that_blocks) {
  for (bool const upwards : {false, true}) {
    constexpr std::size_t few = 9;
    held_group g(few);
    std::vector<rubato::promise<void>> ends(few);
    std::vector<rubato::shared_future<void>> ended;
    for (auto& p : ends) ended.push_back(p.get_future().share());
    auto const blocks = [&](std::size_t i) -> rubato::task<> {
      std::size_t const other = upwards ? i + 1 : i - 1;
      if (other != first && other != few) ended[other].get();
      ends[i].set_value();
      co_return;
    };
    expect_all(pool.block_on(g.all(blocks)), few);
  }
}

TEST_P(taken_members, stop_the_others_of_their_share) {
  leak_check const none_left;
  for (std::size_t which = 1; which < some; which += 7) {
    std::atomic<bool> failed{false};
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    auto const member = [&](std::size_t i, counted c) -> rubato::task<counted> {
      ++begun;
      if (i == first) {
        EXPECT_TRUE(eventually([&] { return failed.load(); }));
      }
      if (i % 3 == 0) co_await rubato::yield();
      ++ended;
      if (i != which) co_return c;
      failed = true;
      throw failure(static_cast<int>(which));
    };
    EXPECT_EQ(failure_of([&] { pool.block_on(await_all(member)); }), static_cast<int>(which));
    EXPECT_EQ(ended, begun);
  }
}

TEST_P(taken_members, are_cancelled) {
  leak_check const none_left;
  for (unsigned round = 0; round != scaled(20); ++round) {
    std::atomic<bool> taken{false};
    std::atomic<bool> over{false};
    auto const member = [&](std::size_t i, counted c) -> rubato::task<counted> {
      if (i == first) {
        EXPECT_TRUE(eventually([&] { return over.load(); }));
      } else {
        taken = true;
      }
      if (i % 2 == 0) co_await rubato::sleep_for(1000s);
      co_return c;
    };
    auto whole = pool.spawn(await_all(member));
    EXPECT_TRUE(eventually([&] { return taken.load(); }));
    whole.cancel();
    over = true;
    EXPECT_EQ(outcome_of_get(whole), outcome::cancelled);
  }
}

TEST_P(taken_members, end_with_their_pool) {
  leak_check const none_left;
  for (unsigned round = 0; round != scaled(30); ++round) {
    std::atomic<bool> taken{false};
    auto const member = [&](std::size_t i, counted c) -> rubato::task<counted> {
      if (i == first) {
        EXPECT_TRUE(eventually([&] { return taken.load(); }));
      } else {
        taken = true;
      }
      if (i % 2 == 0) co_await rubato::yield();
      if (i % 5 == 0) co_await rubato::sleep_for(1ms);
      co_return c;
    };
    rubato::future<void> whole;
    {
      rubato::pool mortal(with_workers(GetParam()));
      whole = mortal.spawn(await_all(member));
      EXPECT_TRUE(eventually([&] { return taken.load(); }));
      if (round % 3 == 0) mortal.shutdown(rubato::discard);
      if (round % 3 == 1) mortal.shutdown(rubato::drain);
    }
    ASSERT_TRUE(whole.ready());
    static_cast<void>(outcome_of_get(whole));
  }
}

} // namespace
