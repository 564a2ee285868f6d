// Algorithms in place after a comparator, a predicate or a move has thrown, with comparators that are no
// order, and after a stop: each element is there once.
#include <gtest/gtest.h>

#include "algorithm/fragile.hpp"
#include "algorithm/inputs.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/algorithm/copies.hpp>
#include <rubato/algorithm/order.hpp>
#include <rubato/cancelled.hpp>
#include <rubato/pool.hpp>
#include <rubato/scope.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace rubato_test;

namespace {

class order_failures : public on_workers {
protected:
  template<class T>
  void break_all(unsigned rounds, std::size_t n) {
    auto const order = [](auto const& call) {
      return [&call](T const& a, T const& b) {
        call();
        return a.key() < b.key();
      };
    };
    auto const test = [](auto const& call) {
      return [&call](T const& x) {
        call();
        return x.key() % 2 == 0;
      };
    };
    std::size_t const some = 12 * n;
    break_anywhere<T>(rounds, n, some, [&](auto& v, auto call) { rubato::sort(pool, v, order(call)); });
    break_anywhere<T>(rounds, n, some,
                      [&](auto& v, auto call) { rubato::stable_sort(pool, v, order(call)); });
    break_anywhere<T>(rounds, n, 3 * n, [&](auto& v, auto call) {
      rubato::nth_element(pool, v, v.begin() + std::ssize(v) / 2, order(call));
    });
    break_anywhere<T>(rounds, n, n + n / 4,
                      [&](auto& v, auto call) { rubato::partition(pool, v, test(call)); });
    break_anywhere<T>(rounds, n, n + n / 4,
                      [&](auto& v, auto call) { rubato::stable_partition(pool, v, test(call)); });
    if constexpr (!std::is_same_v<T, plain>) { // those that are removed are overwritten
      break_anywhere<T>(rounds, n, n + n / 4,
                        [&](auto& v, auto call) { rubato::remove_if(pool, v, test(call)); });
      break_anywhere<T>(rounds, n, n + n / 4, [&](auto& v, auto call) {
        rubato::unique(pool, v, [&call](T const& a, T const& b) {
          call();
          return a.key() % 2 == b.key() % 2;
        });
      });
    }
  }
};
RUBATO_TEST_WITH_WORKERS(order_failures, all_counts);

TEST_P(order_failures, keep_elements_whose_moves_throw) {
  break_all<fragile>(scaled(40), 6'000);
  break_all<fragile>(scaled(40), 100);
}
TEST_P(order_failures, regression_sort_whose_moves_throw) {
  // An exception of a move out of a destructor ended the process. So did a copy, of types that do not move.
  for (shape const s : {shape::random, shape::sorted, shape::reversed, shape::organ_pipe})
    for (std::size_t const n : {20U, 300U, 3'000U})
      for (int throws_at = 0; throws_at < 300; throws_at += 1 + throws_at / 4) {
        auto v = elements_of<fragile>(input_of(s, n));
        moves_of_fragile.set(throws_at);
        bool thrown = false;
        try {
          rubato::sort(pool, v, {}, &fragile::key);
        } catch (broken const&) {
          thrown = true;
        }
        bool const was_due = moves_of_fragile.is_burnt();
        moves_of_fragile.set(-1);
        ASSERT_EQ(thrown, was_due);
        ASSERT_NO_FATAL_FAILURE(expect_each_once(v));
        ASSERT_TRUE(thrown || std::ranges::is_sorted(v, {}, &fragile::key));
      }
  break_anywhere<fragile>(2, sized(150'000), 50'000, [&](auto& v, auto call) {
    rubato::sort(pool, v, [&call](fragile const& a, fragile const& b) {
      call();
      return a.key() < b.key();
    });
  });
}
TEST_P(order_failures, keep_elements_that_own_memory) { break_all<sturdy>(scaled(20), 20'000); }
TEST_P(order_failures, keep_plain_elements) {
  break_all<plain>(scaled(20), 40'000);
  break_all<plain>(scaled(40), 150);
}

TEST_P(order_failures, leave_plain_elements_not_yet_looked_at) {
  for (int round = 0; round != 20; ++round) {
    auto v = elements_of<plain>(input_of(shape::sorted, 5'000));
    std::atomic<int> calls{0};
    try {
      rubato::remove_if(pool, v, [&](plain const& x) {
        if (++calls > 300 * round) throw broken();
        return x.key() % 2 == 1;
      });
    } catch (broken const&) {
    }
    std::vector<bool> seen(v.size());
    for (plain const& x : v) seen[static_cast<std::size_t>(x.id())] = true;
    for (std::size_t i = 0; i < v.size(); i += 2) ASSERT_TRUE(seen[i]);
  }
}

TEST_P(order_failures, of_bad_comparators_stay_within_the_range) {
  constexpr std::ptrdiff_t guards = 40;
  std::vector<std::size_t> lengths;
  for (std::size_t n = 0; n <= 300; n += under_tsan || GetParam() > 2 ? 7 : 1) lengths.push_back(n);
  lengths.push_back(sized(50'000));
  std::atomic<std::uint64_t> state{1};
  for (std::size_t const n : lengths) {
    auto const check = [&](auto compare) {
      for (int const algorithm : {0, 1, 2}) {
        std::vector<int> v(static_cast<std::size_t>(guards), -1);
        for (std::size_t i = 0; i != n; ++i)
          v.push_back(static_cast<int>(i * 7 % n)); // n not of 7: each once
        v.insert(v.end(), static_cast<std::size_t>(guards), -1);
        auto expected = v;
        std::atomic<bool> outside{false};
        auto const watching = [&](int a, int b) {
          if (a < 0 || b < 0) outside = true;
          return compare(a, b);
        };
        auto const first = v.begin() + guards, last = v.end() - guards;
        if (algorithm == 0)
          rubato::stable_sort(pool, first, last, watching);
        else if (algorithm == 1)
          rubato::nth_element(pool, first, first + (last - first) / 2, last, watching);
        else
          rubato::unique(pool, first, last, watching);
        ASSERT_FALSE(outside) << n;
        ASSERT_TRUE(std::all_of(v.begin(), first, [](int x) { return x == -1; }));
        ASSERT_TRUE(std::all_of(last, v.end(), [](int x) { return x == -1; }));
        if (algorithm == 2) continue;
        std::ranges::sort(v);
        std::ranges::sort(expected);
        ASSERT_TRUE(v == expected) << n << ", " << algorithm;
      }
    };
    check([](int a, int b) { return a <= b; });
    check([](int, int) { return true; });
    check([](int a, int b) { return (a * 31 + b * 17) % 7 < 3; });
    check([&state](int, int) {
      return (scattered(state.fetch_add(1, std::memory_order_relaxed))() & 1U) != 0;
    });
    check([](int a, int b) { // as of NaNs
      double const x = a % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : a;
      return x < (b % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : b);
    });
  }
}

TEST_P(order_failures, of_a_stopped_scope_are_cancelled) {
  std::size_t const n = 60'000;
  for (bool const before : {true, false})
    for (int algorithm = 0; algorithm != 6; ++algorithm) {
      auto v = elements_of<sturdy>(input_of(shape::random, n));
      bool cancelled = false;
      pool.run([&] {
        rubato::with_scope([&](rubato::scope& s) {
          if (before) s.request_stop();
          std::atomic<std::size_t> calls{0};
          auto const stop = [&] {
            if (calls.fetch_add(1, std::memory_order_relaxed) == 2'500) s.request_stop();
          };
          auto const order = [&](sturdy const& a, sturdy const& b) {
            stop();
            return a.key() < b.key();
          };
          auto const test = [&](sturdy const& x) {
            stop();
            for (int i = 0; i != 100; ++i) calls.load(); // long enough to be shared out
            return x.key() % 2 == 0;
          };
          try {
            switch (algorithm) {
            case 0:
              rubato::stable_sort(v, order);
              break;
            case 1:
              rubato::nth_element(v, v.begin() + n / 2, order);
              break;
            case 2:
              rubato::partition(v, test);
              break;
            case 3:
              rubato::stable_partition(v, test);
              break;
            case 4:
              rubato::remove_if(v, test);
              break;
            default:
              rubato::unique(v, [&](sturdy const& a, sturdy const& b) { return test(a) == test(b); });
            }
          } catch (rubato::cancelled const&) {
            cancelled = true;
          }
        });
      });
      ASSERT_NO_FATAL_FAILURE(expect_each_once(v)) << algorithm;
      if (before || algorithm == 0) {
        ASSERT_TRUE(cancelled) << algorithm << before;
      }
    }
}

} // namespace
