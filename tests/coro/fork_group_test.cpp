// Tasks that are awaited together: forked in the frame, taken by thieves, queued when the coroutine is
// suspended.
#include <rubato/rubato.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
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

class fixed_fork_group : public on_workers {};
RUBATO_TEST_WITH_WORKERS(fixed_fork_group, all_counts);
class parallel_siblings : public on_workers {};
RUBATO_TEST_WITH_WORKERS(parallel_siblings, counts_in_parallel);

rubato::task<std::uint64_t> fib(unsigned n) {
  if (n < 2) co_return n;
  auto both = co_await rubato::when_all(fib(n - 1), fib(n - 2));
  co_return std::get<0>(both) + std::get<1>(both);
}

TEST_P(fixed_fork_group, recurse) { EXPECT_EQ(pool.block_on(fib(20)), 6765U); }

TEST_P(fixed_fork_group, recurse_in_many_coroutines_at_once) {
  std::vector<rubato::future<std::uint64_t>> all;
  for (unsigned i = 0; i != 50; ++i) all.push_back(pool.spawn(fib(i % 15)));
  for (unsigned i = 0; i != 50; ++i) EXPECT_EQ(all[i].get(), pool.block_on(fib(i % 15)));
}

rubato::task<int> gives(int i) { co_return i; }
rubato::task<std::unique_ptr<int>> gives_owned(int i) {
  co_await rubato::yield();
  co_return std::make_unique<int>(i);
}
rubato::task<int&> refers(int& i) { co_return i; }
rubato::task<void> does_nothing() { co_return; }

TEST_P(fixed_fork_group, bring_results_of_every_kind) {
  int referred = 3;
  auto all = pool.block_on(rubato::when_all(gives(1), gives_owned(2), refers(referred), does_nothing()));
  EXPECT_EQ(std::get<0>(all), 1);
  EXPECT_EQ(*std::get<1>(all), 2);
  EXPECT_EQ(&std::get<2>(all), &referred);
  static_assert(std::is_same_v<std::tuple_element_t<3, decltype(all)>, std::monostate>);
}

TEST_P(fixed_fork_group, may_be_one_none_or_many) {
  EXPECT_EQ(std::get<0>(pool.block_on(rubato::when_all(gives(1)))), 1);
  EXPECT_TRUE(pool.block_on(rubato::when_all(std::vector<rubato::task<int>>())).empty());
  std::vector<rubato::task<int>> many;
  int const n = static_cast<int>(sized(20'000)); // more than a chain holds
  for (int i = 0; i != n; ++i) many.push_back(gives(i));
  auto const values = pool.block_on(rubato::when_all(std::move(many)));
  for (int i = 0; i != n; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i);
}

rubato::task<int> gives_unless(int i, int failing) {
  if (i == failing) throw std::runtime_error("this one");
  co_return i;
}

TEST_P(fixed_fork_group, assign_results_to_the_places_given) {
  auto const body = [](std::size_t n, int failing) -> rubato::task<std::vector<long>> {
    std::vector<rubato::task<int>> tasks(n);
    std::vector<long> results(n, -1);
    for (std::size_t i = 0; i != n; ++i) tasks[i] = gives_unless(static_cast<int>(i), failing);
    try {
      co_await rubato::when_all(tasks, results);
    } catch (std::runtime_error const&) {
      failing = -1;
    }
    EXPECT_EQ(failing, -1);
    for (auto const& t : tasks) EXPECT_FALSE(t.valid());
    co_return results;
  };
  for (std::size_t const n : {0U, 1U, 2U, 100U, 2'000U}) {
    std::vector<long> const got = pool.block_on(body(n, -1));
    for (std::size_t i = 0; i != n; ++i) ASSERT_EQ(got[i], static_cast<long>(i));
    if (n == 0) continue;
    // Nothing is assigned if one fails.
    EXPECT_EQ(pool.block_on(body(n, static_cast<int>(n) / 2)), std::vector<long>(n, -1));
  }
}

TEST_P(fixed_fork_group, assign_results_only_of_whole_ranges) {
  std::array<rubato::task<int>, 2> tasks{gives(1), gives(2)};
  std::array<int, 3> results{};
  EXPECT_THROW(static_cast<void>(rubato::when_all(tasks, results)), std::invalid_argument);
  EXPECT_TRUE(tasks[0].valid() && tasks[1].valid());
  pool.block_on(rubato::when_all(tasks, std::span(results).first(2)));
  EXPECT_EQ(results, (std::array<int, 3>{1, 2, 0}));
  // The tasks are gone.
  EXPECT_EQ(
      rubato_test::outcome_of([&] { pool.block_on(rubato::when_all(tasks, std::span(results).first(2))); }),
      outcome::no_state);
  tasks = {gives(3), rubato::task<int>()};
  EXPECT_EQ(
      rubato_test::outcome_of([&] { pool.block_on(rubato::when_all(tasks, std::span(results).first(2))); }),
      outcome::no_state);
  EXPECT_TRUE(tasks[0].valid()); // none is taken before all are checked
}

TEST_P(fixed_fork_group, are_not_empty) {
  leak_check const none_left;
  EXPECT_EQ(rubato_test::outcome_of([&] { pool.block_on(rubato::when_all(gives(1), rubato::task<int>())); }),
            outcome::no_state);
}

TEST_P(fixed_fork_group, may_be_anything_that_can_be_awaited) {
  rubato::channel<int> ch(1);
  ASSERT_TRUE(ch.try_send(5));
  auto const body = [&]() -> rubato::task<int> {
    auto all = co_await rubato::when_all(rubato::sleep_for(1ms), ch.receive(), gives(2), rubato::yield());
    co_return *std::get<1>(all) + std::get<2>(all);
  };
  EXPECT_EQ(pool.block_on(body()), 7);
  auto const race = [&]() -> rubato::task<std::size_t> {
    rubato::interval every(1ms);
    auto won = co_await rubato::when_any(ch.receive(), every.tick(), rubato::sleep_for(1000s));
    co_return won.index;
  };
  EXPECT_EQ(pool.block_on(race()), 1U);
  EXPECT_FALSE(pool.block_on(rubato::with_deadline(rubato::sleep_for(1000s), 1ms)));
  EXPECT_FALSE(pool.block_on(rubato::with_deadline(ch.receive(), 1ms)));
  EXPECT_TRUE(pool.block_on(rubato::with_deadline(rubato::yield(), 1000s)));
}

rubato::task<int> receives_then(rubato::channel<int>& ch, int i) {
  auto const got = co_await ch.receive();
  co_return got.value_or(-1000) + i;
}
rubato::task<int> sends(rubato::channel<int>& ch, int value) {
  bool const sent = co_await ch.send(value);
  co_return sent ? value : -1;
}

TEST_P(fixed_fork_group, run_when_the_one_that_runs_here_awaits_them) {
  // Each waits for one that is still latent: it must be queued then.
  rubato::channel<int> a(0);
  rubato::channel<int> b(0);
  auto const all =
      pool.block_on(rubato::when_all(receives_then(a, 1), receives_then(b, 2), sends(b, 20), sends(a, 10)));
  EXPECT_EQ(all, std::make_tuple(11, 22, 20, 10));
}

TEST_P(parallel_siblings, are_taken_while_the_one_here_goes_on) {
  std::atomic<bool> taken{false};
  auto const spins = [&]() -> rubato::task<bool> { co_return eventually([&] { return taken.load(); }); };
  auto const tells = [&]() -> rubato::task<bool> {
    taken = true;
    co_return true;
  };
  EXPECT_EQ(pool.block_on(rubato::when_all(spins(), tells())), std::make_tuple(true, true));
}

TEST_P(fixed_fork_group, on_a_seat_stay_there) {
  if (GetParam() < 2) return;
  auto const threads = [&]() -> rubato::task<std::thread::id> {
    co_await rubato::yield();
    co_return std::this_thread::get_id();
  };
  auto const body = [&]() -> rubato::task<std::size_t> {
    auto const all = co_await rubato::when_all(threads(), threads(), threads());
    std::set<std::thread::id> const different{std::get<0>(all), std::get<1>(all), std::get<2>(all)};
    co_return different.size();
  };
  EXPECT_EQ(pool.spawn_on(GetParam() - 1, body()).get(), 1U);
}

rubato::task<int> fails(int i, bool first_yields) {
  if (first_yields) co_await rubato::yield();
  throw failure(i);
}

TEST_P(fixed_fork_group, fail_anywhere_after_the_others_have_ended) {
  leak_check const none_left;
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  auto const works = [&](counted c) -> rubato::task<int> {
    ++begun;
    co_await rubato::yield();
    ++ended;
    co_return c.value;
  };
  for (int which = 0; which != 8; ++which) {
    begun = ended = 0;
    auto const body = [&](int w) -> rubato::task<int> {
      bool const late = w >= 4;
      auto t0 = w % 4 == 0 ? fails(w, late) : works(counted(0));
      auto t1 = w % 4 == 1 ? fails(w, late) : works(counted(1));
      auto t2 = w % 4 == 2 ? fails(w, late) : works(counted(2));
      auto t3 = w % 4 == 3 ? fails(w, late) : works(counted(3));
      auto all = co_await rubato::when_all(std::move(t0), std::move(t1), std::move(t2), std::move(t3));
      co_return std::get<0>(all);
    };
    EXPECT_EQ(failure_of([&] { pool.block_on(body(which)); }), which);
    EXPECT_EQ(ended, begun); // a failure keeps those from beginning that have not
  }
}

TEST_P(fixed_fork_group, are_not_begun_once_the_coroutine_is_stopped) {
  std::atomic<int> begun{0};
  rubato::promise<rubato::future<void>*> self;
  auto const begins = [&]() -> rubato::task<void> {
    ++begun;
    co_return;
  };
  auto const stops = [&](rubato::shared_future<rubato::future<void>*> own) -> rubato::task<void> {
    rubato::future<void>* const f = co_await own;
    f->cancel();
  };
  auto f = pool.spawn([&, own = self.get_future().share()]() -> rubato::task<void> {
    co_await stops(own); // the whole coroutine, that is
    co_await rubato::when_all(begins(), begins(), begins());
  });
  self.set_value(&f);
  EXPECT_EQ(outcome_of_get(f), outcome::cancelled);
  EXPECT_EQ(begun, 0);
}

// Random trees: every leaf once, whatever is between.

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdU;
  x ^= x >> 29;
  x *= 0xc4ceb9fe1a85ec53U;
  return x ^ (x >> 32);
}

struct forest {
  std::uint64_t seed;
  rubato::pool* other; ///< where some of it moves to for a while; null: nothing does
  unsigned fails_in;   ///< one leaf of so many throws; 0: none
  bool spawns = true;  ///< tasks that no coroutine waits for if it is stopped
  tally leaves;
  forest(std::uint64_t s, std::size_t size, rubato::pool* where, unsigned f)
      : seed(s)
      , other(where)
      , fails_in(f)
      , leaves(size) {}
};

rubato::task<counted> grow(forest& f, std::size_t lo, std::size_t hi);

rubato::task<counted> both_in_an_async_scope(forest& f, std::size_t lo, std::size_t middle, std::size_t hi) {
  auto const body = [](rubato::scope& s, forest* in, std::size_t from, std::size_t between,
                       std::size_t to) -> rubato::task<> {
    s.spawn(grow(*in, from, between));
    counted const right = co_await grow(*in, between, to);
    if (right.value < 0) throw std::logic_error("negative");
  };
  co_await rubato::with_async_scope(body, &f, lo, middle, hi);
  co_return counted(static_cast<int>(hi - lo));
}

counted sum(counted const& a, counted const& b) { return counted(a.value + b.value); }

rubato::task<counted> grow(forest& f, std::size_t lo, std::size_t hi) {
  counted const here(static_cast<int>(hi - lo)); // found again if the frame is not destroyed once
  std::uint64_t const chance = mixed(f.seed ^ mixed(lo * 1'000'003 + hi));
  if (hi - lo == 1) {
    if (chance % 3 == 0) co_await rubato::yield();
    if (chance % 29 == 0) co_await rubato::sleep_for(10us);
    f.leaves.hit(lo);
    if (f.fails_in != 0 && chance % f.fails_in == 1) throw failure(1);
    co_return here;
  }
  std::size_t const middle = lo + 1 + (chance >> 8) % (hi - lo - 1);
  rubato::pool& home = *rubato::current_pool();
  switch (chance % 8) {
  case 0: {
    std::vector<rubato::task<counted>> parts;
    std::size_t const step = (hi - lo + 3) / 4;
    for (std::size_t i = lo; i < hi; i += step) parts.push_back(grow(f, i, std::min(i + step, hi)));
    auto const all = co_await rubato::when_all(std::move(parts));
    int total = 0;
    for (counted const& c : all) total += c.value;
    co_return counted(total);
  }
  case 1: {
    counted const left = co_await grow(f, lo, middle);
    counted const right = co_await grow(f, middle, hi);
    co_return sum(left, right);
  }
  case 2:
    co_return co_await both_in_an_async_scope(f, lo, middle, hi);
  case 3: {
    auto halves = rubato::join([&] { return grow(f, lo, middle); }, [&] { return grow(f, middle, hi); });
    co_return sum(halves.first, halves.second);
  }
  case 4: {
    if (!f.spawns) break;
    auto left = rubato::spawn(grow(f, lo, middle));
    rubato::future<counted> right = rubato::spawn(grow(f, middle, hi));
    auto all = co_await rubato::when_all(std::move(left), std::move(right));
    co_return sum(std::get<0>(all), std::get<1>(all));
  }
  case 5: {
    auto const in_time = co_await rubato::with_deadline(grow(f, lo, middle), 1000s);
    if (!in_time) throw rubato::cancelled(); // the whole is stopped
    counted const right = co_await grow(f, middle, hi);
    co_return sum(in_time.value(), right);
  }
  case 6:
    if (f.other != nullptr) co_await rubato::resume_on(*f.other);
    break;
  default:
    break;
  }
  auto all = co_await rubato::when_all(grow(f, lo, middle), does_nothing(), grow(f, middle, hi));
  if (f.other != nullptr && chance % 16 == 6) co_await rubato::resume_on(home);
  co_return sum(std::get<0>(all), std::get<2>(all));
}

TEST_P(fixed_fork_group, in_trees_of_all_kinds_run_once) {
  leak_check const none_left;
  rubato::pool other(2);
  for (std::uint64_t seed = 0; seed != scaled(60); ++seed) {
    forest f(seed, sized(600), seed % 2 == 0 ? &other : nullptr, 0);
    ASSERT_EQ(pool.block_on(grow(f, 0, sized(600))).value, static_cast<int>(sized(600))) << "seed " << seed;
    f.leaves.expect_each_once();
  }
}

TEST_P(fixed_fork_group, in_trees_of_all_kinds_fail) {
  leak_check const none_left;
  rubato::pool other(1);
  for (std::uint64_t seed = 0; seed != scaled(60); ++seed) {
    forest f(seed, 300, seed % 2 == 0 ? &other : nullptr, 10);
    f.spawns = false;
    ASSERT_EQ(failure_of([&] { pool.block_on(grow(f, 0, 300)); }), 1) << "seed " << seed;
    f.leaves.expect_none_twice();
  }
}

TEST_P(fixed_fork_group, in_trees_of_all_kinds_are_cancelled) {
  leak_check const none_left;
  for (std::uint64_t seed = 0; seed != scaled(60); ++seed) {
    forest f(seed, 300, nullptr, 0);
    f.spawns = false;
    auto whole = pool.spawn(grow(f, 0, 300));
    whole.wait_for(std::chrono::microseconds(seed * 7));
    whole.cancel();
    outcome const o = outcome_of_get(whole);
    ASSERT_TRUE(o == outcome::value || o == outcome::cancelled) << o << ", seed " << seed;
    f.leaves.expect_none_twice();
  }
}

TEST_P(fixed_fork_group, in_trees_of_all_kinds_when_the_pool_ends) {
  leak_check const none_left;
  for (std::uint64_t seed = 0; seed != scaled(60); ++seed) {
    forest f(seed, 300, nullptr, 0);
    std::vector<rubato::future<counted>> all;
    {
      rubato::pool mortal(rubato_test::with_workers(GetParam()));
      for (int i = 0; i != 3; ++i) all.push_back(mortal.spawn(grow(f, 0, 300)));
      all.front().wait_for(std::chrono::microseconds(seed * 7));
      if (seed % 3 == 0) mortal.shutdown(rubato::discard);
      if (seed % 3 == 1) mortal.shutdown(rubato::drain);
    }
    for (auto& whole : all) {
      ASSERT_TRUE(whole.ready());
      static_cast<void>(outcome_of_get(whole));
    }
  }
}

TEST_P(fixed_fork_group, in_all_kinds_of_trees_in_a_resized_pool) {
  leak_check const none_left;
  std::atomic<bool> over{false};
  std::thread resizes([&] {
    for (unsigned i = 1; !over; ++i) {
      pool.resize(i % 4);
      std::this_thread::sleep_for(100us);
    }
    pool.resize(GetParam());
  });
  for (std::uint64_t seed = 0; seed != scaled(40); ++seed) {
    forest f(seed, 300, nullptr, 0);
    auto whole = pool.spawn(grow(f, 0, 300));
    ASSERT_EQ(whole.get().value, 300) << "seed " << seed;
    f.leaves.expect_each_once();
  }
  over = true;
  resizes.join();
}

rubato::task<int> gives_after_others(int i) {
  co_await rubato::yield();
  co_return i;
}
/// Is suspended n times while it has forked a member.
rubato::task<std::uint64_t> suspends(std::uint64_t n) {
  std::uint64_t sum = 0;
  for (; n != 0; --n) {
    auto both = co_await rubato::when_all(gives_after_others(1), gives(2));
    sum += static_cast<std::uint64_t>(std::get<0>(both) + std::get<1>(both));
  }
  co_return sum;
}

/// Once it was a bit-field that counted to 2^25: a group took the next of its members from a chain without
/// it.
TEST_P(parallel_siblings, regression_remember_that_they_were_queued) {
  std::uint64_t const times = test_scale() >= 4 ? std::uint64_t{1} << 25U : 300;
  auto const both = pool.block_on(rubato::when_all(suspends(times), gives(5)));
  EXPECT_EQ(std::get<0>(both), 3 * times);
  EXPECT_EQ(std::get<1>(both), 5);
}

} // namespace
