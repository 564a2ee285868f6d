// What stable_sort, stable_partition and the algorithms in place take of memory, and that they do without.
#include <gtest/gtest.h>

#include "algorithm/inputs.hpp"
#include "memory/failing.hpp"
#include "memory/peak.hpp"
#include "support/pools.hpp"

#include <rubato/algorithm/copies.hpp>
#include <rubato/algorithm/order.hpp>
#include <rubato/pool.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

using namespace rubato_test;

namespace {

constexpr std::size_t many = 100'000;
constexpr std::size_t slack = std::size_t{16} << 10U; // the pool's and the loops'

struct record {
  int key;
  int place;
};
bool is_even(record const& r) { return r.key % 2 == 0; }
auto const same_key = [](record const& a, record const& b) { return a.key == b.key; };

std::vector<record> records(std::size_t n = many) {
  auto const keys = input_of(shape::random, n);
  std::vector<record> v(n);
  for (std::size_t i = 0; i != n; ++i) v[i] = {keys[i] % 1'000, static_cast<int>(i)};
  return v;
}
bool are_in_place_order(record const& a, record const& b) {
  return a.key != b.key ? a.key < b.key : a.place < b.place;
}

/// Algorithms of a thread of the pool: to become one may take memory.
class order_memory : public on_workers {
protected:
  template<class F>
  std::size_t most_of(F run) {
    auto v = records();
    pool.run([&] { run(v); }); // what the pool itself needs at its first work
    v = records();
    std::size_t most = 0;
    pool.run([&] {
      memory_meter const meter;
      run(v);
      most = meter.most();
    });
    return most;
  }
  /// Calls run(v) while one allocation fails, or all from one on, then check(v); each allocation in turn.
  template<class F, class Check>
  void fail_each(F run, Check check) {
    for (bool const once : {true, false}) {
      bool fails = true;
      for (std::int64_t k = 1; k <= 50 && fails; ++k) {
        auto v = records(20'000);
        pool.run([&] {
          failing_allocation const failing(k, once);
          run(v);
          fails = failing_allocation::has_failed();
        });
        ASSERT_TRUE(check(v)) << k << once;
      }
    }
  }
};
RUBATO_TEST_WITH_WORKERS(order_memory, all_counts);

TEST_P(order_memory, is_that_of_as_many_elements_if_stable) {
  std::size_t const all = many * sizeof(record);
  EXPECT_LE(most_of([](auto& v) { rubato::stable_sort(v, {}, &record::key); }), all + slack);
  EXPECT_LE(most_of([](auto& v) { rubato::stable_partition(v, is_even); }), all + slack);
}

TEST_P(order_memory, is_next_to_none_in_place) {
  EXPECT_LE(most_of([](auto& v) { rubato::nth_element(v, v.begin() + many / 2, {}, &record::key); }), slack);
  EXPECT_LE(most_of([](auto& v) { rubato::partition(v, is_even); }), slack);
  EXPECT_LE(most_of([](auto& v) { rubato::remove_if(v, is_even); }), slack);
  EXPECT_LE(most_of([](auto& v) { rubato::unique(v, same_key); }), slack);
}

TEST_P(order_memory, may_be_missing) {
  fail_each([](auto& v) { rubato::stable_sort(v, {}, &record::key); },
            [](auto& v) { return std::ranges::is_sorted(v, are_in_place_order); });
  fail_each([](auto& v) { rubato::stable_partition(v, is_even); },
            [](auto& v) {
              auto const border = std::ranges::partition_point(v, is_even);
              auto const by_place = [](record const& a, record const& b) { return a.place < b.place; };
              return std::none_of(border, v.end(), is_even) && std::is_sorted(v.begin(), border, by_place) &&
                     std::is_sorted(border, v.end(), by_place);
            });
  fail_each([](auto& v) { v.erase(rubato::remove_if(v, is_even).begin(), v.end()); },
            [](auto& v) { return std::ranges::none_of(v, is_even) && v.size() > 5'000; });
}

TEST_P(order_memory, may_be_missing_for_elements_that_own_some) {
  for (bool const once : {true, false}) {
    std::vector<std::unique_ptr<record>> v;
    for (record const& r : records(10'000)) v.push_back(std::make_unique<record>(r));
    auto const is_even_there = [](auto const& r) { return is_even(*r); };
    pool.run([&] {
      failing_allocation const failing(1, once);
      rubato::stable_sort(v, {}, [](auto const& r) { return r->key; });
    });
    ASSERT_TRUE(std::ranges::is_sorted(v, are_in_place_order, [](auto const& r) { return *r; }));
    pool.run([&] {
      failing_allocation const failing(1, once);
      rubato::stable_partition(v, is_even_there);
    });
    auto const border = std::ranges::partition_point(v, is_even_there);
    ASSERT_TRUE(std::none_of(border, v.end(), is_even_there));
    ASSERT_TRUE(std::is_sorted(border, v.end(),
                               [](auto const& a, auto const& b) { return are_in_place_order(*a, *b); }));
  }
}

} // namespace
