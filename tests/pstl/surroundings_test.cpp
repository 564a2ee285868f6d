// std::execution::par on Rubato: in which pool, within which tasks, beside which threads, under which stops.
#include "pstl/standard.hpp"

#include <rubato/algorithm.hpp>
#include <rubato/cancelled.hpp>
#include <rubato/scope.hpp>
#include <rubato/spawn.hpp>
#include <rubato/this_task.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <new>
#include <numeric>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace rubato_test;

namespace {

/// One algorithm for each function of the backend; true if all results are right.
bool all_kinds_are_right(std::size_t n) {
  auto const input = numbers_below(1000, n);
  auto sorted = input, v = input;
  std::sort(sorted.begin(), sorted.end());
  std::sort(par, v.begin(), v.end());
  bool right = v == sorted;
  v = input;
  auto const front = static_cast<std::ptrdiff_t>(n / 10);
  std::partial_sort(par, v.begin(), v.begin() + front, v.end());
  right = right && std::equal(v.begin(), v.begin() + front, sorted.begin());
  std::vector<int> twice(2 * n), out(n);
  std::merge(par, sorted.begin(), sorted.end(), sorted.begin(), sorted.end(), twice.begin());
  right = right && std::is_sorted(twice.begin(), twice.end());
  std::transform(par, input.begin(), input.end(), out.begin(), [](int x) { return x + 1; });
  right = right && std::reduce(par, out.begin(), out.end()) ==
                       std::accumulate(input.begin(), input.end(), static_cast<int>(n));
  right = right && std::find(par, sorted.begin(), sorted.end(), -1) == sorted.end();
  right =
      right && std::count(par, input.begin(), input.end(), 7) == std::count(input.begin(), input.end(), 7);
  std::vector<std::int64_t> sums(n);
  std::inclusive_scan(par, input.begin(), input.end(), sums.begin());
  right = right && (n == 0 || sums.back() == std::accumulate(input.begin(), input.end(), std::int64_t{0}));
  std::vector<double> real(n);
  std::inclusive_scan(par, input.begin(), input.end(), real.begin(), std::plus<>(), 0.0);
  right = right && (n == 0 || real.back() == static_cast<double>(sums.back()));
  out.erase(std::copy_if(par, input.begin(), input.end(), out.begin(), [](int x) { return x < 500; }),
            out.end());
  right = right && std::ssize(out) == std::lower_bound(sorted.begin(), sorted.end(), 500) - sorted.begin();
  std::vector<int> rest(2 * n);
  rest.erase(std::set_difference(par, twice.begin(), twice.end(), sorted.begin(), sorted.end(), rest.begin()),
             rest.end());
  return right && rest == sorted;
}

class standard_surroundings : public standard_algorithms {};

TEST_P(standard_surroundings, calls_run_on_the_pool_of_the_caller) {
  std::vector<int> v(1000);
  pool.run([&] {
    std::for_each(par, v.begin(), v.end(), [this](int& x) { x = rubato::current_pool() == &pool ? 1 : 0; });
  });
  EXPECT_EQ(std::count(v.begin(), v.end(), 1), 1000);
  std::for_each(par, v.begin(), v.end(),
                [](int& x) { x = rubato::current_pool() == &rubato::pool::global() ? 2 : 0; });
  EXPECT_EQ(std::count(v.begin(), v.end(), 2), 1000);
}
TEST_P(standard_surroundings, a_stop_around_ends_no_algorithm) {
  pool.run([] {
    rubato::with_scope([](rubato::scope& s) {
      s.request_stop();
      EXPECT_THROW(rubato::for_index(0, 10'000, [](int) {}), rubato::cancelled);
      for (std::size_t const n : standard_lengths()) EXPECT_TRUE(all_kinds_are_right(n)) << n;
      std::vector<int> v(1000);
      std::for_each(par, v.begin(), v.end(),
                    [](int& x) { x = !rubato::this_task_stop_token().stop_requested(); });
      EXPECT_EQ(std::count(v.begin(), v.end(), 1), 1000) << "the stop was visible in a call";
    });
  });
}
TEST_P(standard_surroundings, a_stop_meanwhile_ends_no_algorithm) {
  pool.run([] {
    rubato::with_scope([](rubato::scope& s) {
      std::vector<int> v(20'000), sums(v.size());
      std::for_each(par, v.begin(), v.end(), [&](int& x) {
        if (&x == &v[5000]) s.request_stop();
        x = 1;
      });
      std::inclusive_scan(par, v.begin(), v.end(), sums.begin());
      EXPECT_EQ(sums.back(), 20'000);
      EXPECT_TRUE(all_kinds_are_right(10'000));
    });
  });
}
TEST_P(standard_surroundings, a_discard_ends_no_algorithm) {
  std::atomic<bool> begun{false}, right{false};
  if (GetParam() == 0) GTEST_SKIP() << "nothing runs in a pool without workers that is discarded";
  auto const result = pool.spawn([&](std::stop_token stop) {
    begun = true;
    while (!stop.stop_requested()) std::this_thread::yield();
    right = all_kinds_are_right(10'000);
  });
  while (!begun) std::this_thread::yield();
  pool.shutdown(rubato::discard);
  EXPECT_TRUE(right);
}
TEST_P(standard_surroundings, algorithms_within_algorithms) {
  std::vector<int> right(20);
  pool.run(
      [&] { std::for_each(par, right.begin(), right.end(), [](int& x) { x = all_kinds_are_right(3000); }); });
  EXPECT_EQ(std::count(right.begin(), right.end(), 1), 20);
}
TEST_P(standard_surroundings, many_tasks_and_threads_at_once) {
  std::atomic<int> right{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t != 3; ++t)
    threads.emplace_back([&, t] {
      if (t == 0)
        right += all_kinds_are_right(5000); // on the global pool
      else
        pool.run([&] { right += all_kinds_are_right(5000); });
    });
  pool.run([&] {
    rubato::with_scope([&](rubato::scope& s) {
      for (int i = 0; i != 8; ++i) s.spawn([&] { right += all_kinds_are_right(5000); });
    });
  });
  threads.clear();
  EXPECT_EQ(right, 11);
}
TEST_P(standard_surroundings, calls_have_several_threads) {
  if (GetParam() < 2) GTEST_SKIP() << "a pool with one thread";
  std::mutex lock;
  std::set<std::thread::id> seen;
  pool.run([&] {
    std::vector<int> v(4);
    // Each call waits for a second thread, so a loop on one thread would not end.
    std::for_each(par, v.begin(), v.end(), [&](int&) {
      std::unique_lock held(lock);
      seen.insert(std::this_thread::get_id());
      while (seen.size() < 2) {
        held.unlock();
        std::this_thread::yield();
        held.lock();
      }
    });
  });
  EXPECT_GE(seen.size(), 2U);
}

RUBATO_TEST_WITH_WORKERS(standard_surroundings, all_counts);

TEST(standard_policies, all_of_them) {
  auto const sums_up = [](auto const& policy) {
    std::vector<int> v(10'000, 1);
    std::for_each(policy, v.begin(), v.end(), [](int& x) { ++x; });
    return std::reduce(policy, v.begin(), v.end());
  };
  EXPECT_EQ(sums_up(std::execution::seq), 20'000);
  EXPECT_EQ(sums_up(std::execution::unseq), 20'000);
  EXPECT_EQ(sums_up(std::execution::par), 20'000);
  EXPECT_EQ(sums_up(std::execution::par_unseq), 20'000);
}
// The algorithms pass it on. Any other exception in a call ends the program.
TEST(standard_failures, no_memory_is_an_exception) {
  std::size_t const too_many = std::numeric_limits<std::size_t>::max();
  EXPECT_THROW(static_cast<void>(__pstl::__tbb_backend::__buffer<int>(too_many)), std::bad_alloc);
}

} // namespace
