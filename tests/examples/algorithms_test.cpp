// The headers of examples/algorithms: what they compute beside a serial reference, with any number of
// workers.
#include "algorithms/matmul.hpp"
#include "algorithms/mergesort.hpp"
#include "algorithms/monte_carlo.hpp"
#include "algorithms/pagerank.hpp"
#include "algorithms/quicksort.hpp"
#include "algorithms/sieve.hpp"
#include "algorithms/word_count.hpp"
#include "support/with_workers.hpp"

#include <rubato/pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace rubato_test;

class algorithms_on : public testing::TestWithParam<unsigned> {
protected:
  rubato::pool pool_{with_workers(GetParam())};
};

INSTANTIATE_TEST_SUITE_P(workers, algorithms_on, testing::Values(0U, 1U, 2U, 7U, 33U),
                         testing::PrintToStringParamName());

/// A number to sort by, and the place where it was.
struct item {
  int key = 0, place = 0;
  bool operator==(const item&) const = default;
};

constexpr auto by_key = [](const item& a, const item& b) { return a.key < b.key; };

/// Inputs that make sorts go wrong: short, equal, sorted, reversed, few values, organ pipe, random.
std::vector<std::vector<item>> inputs() {
  std::vector<std::vector<item>> all;
  std::mt19937 random(1);
  for (const int n : {0, 1, 2, 3, 19, 20, 21, 22, 1023, 1024, 1025, 4096, 4097, 20'000}) {
    const auto add = [&](auto key) {
      std::vector<item> items;
      for (int i = 0; i != n; ++i) items.push_back({key(i), i});
      all.push_back(std::move(items));
    };
    add([&](int) { return static_cast<int>(random() % 1'000'000); });
    add([&](int) { return static_cast<int>(random() % 10); });
    add([](int) { return 7; });
    add([](int i) { return i; });
    add([](int i) { return -i; });
    add([n](int i) { return std::min(i, n - i); });
  }
  return all;
}

TEST_P(algorithms_on, mergesort_sorts_as_stable_sort_does) {
  for (auto items : inputs()) {
    auto expected = items;
    std::ranges::sort(expected, {}, [](const item& i) { return std::pair(i.key, i.place); });
    pool_.run([&] { algorithms::mergesort(std::span(items), by_key); });
    ASSERT_EQ(items, expected) << items.size();
  }
}

TEST_P(algorithms_on, quicksort_sorts_and_loses_no_item) {
  constexpr auto less = [](const item& a, const item& b) {
    return std::pair(a.key, a.place) < std::pair(b.key, b.place);
  };
  for (auto items : inputs()) {
    auto expected = items;
    std::ranges::sort(expected, less);
    auto by_both = items;
    pool_.run([&] {
      algorithms::quicksort(std::span(by_both), less);
      algorithms::quicksort(std::span(items), by_key); // equal keys
    });
    ASSERT_EQ(by_both, expected) << items.size();
    ASSERT_TRUE(std::ranges::is_sorted(items, by_key)) << items.size();
    std::ranges::sort(items, less);
    ASSERT_EQ(items, expected) << items.size();
  }
}

TEST(algorithms, quicksort_takes_n_log_n_steps_of_a_bad_input) {
  // The adversary of M. McIlroy, "A killer adversary for quicksort" (1999): it decides what the items are as
  // late as it can.
  constexpr int n = 20'000;
  std::vector<int> value(n, n), items(n);
  std::iota(items.begin(), items.end(), 0);
  int solid = 0, candidate = 0, calls = 0;
  rubato::pool alone(1);
  alone.run([&] {
    algorithms::quicksort(std::span(items), [&](int a, int b) {
      ++calls;
      if (value[static_cast<std::size_t>(a)] == n && value[static_cast<std::size_t>(b)] == n)
        value[static_cast<std::size_t>(a == candidate ? a : b)] = solid++;
      if (value[static_cast<std::size_t>(a)] == n)
        candidate = a;
      else if (value[static_cast<std::size_t>(b)] == n)
        candidate = b;
      return value[static_cast<std::size_t>(a)] < value[static_cast<std::size_t>(b)];
    });
  });
  EXPECT_LT(calls, 60 * n);
}

TEST_P(algorithms_on, a_comparison_that_throws_reaches_the_caller) {
  std::vector<int> items(10'000);
  std::iota(items.rbegin(), items.rend(), 0);
  const auto less = [](int a, int b) { return a == 5'000 ? throw std::domain_error("no") : a < b; };
  EXPECT_THROW(pool_.run([&] { algorithms::mergesort(std::span(items), less); }), std::domain_error);
  EXPECT_THROW(pool_.run([&] { algorithms::quicksort(std::span(items), less); }), std::domain_error);
}

TEST_P(algorithms_on, sieve_counts_the_primes_up_to_n) {
  pool_.run([] {
    const auto is_prime = [](std::uint64_t n) {
      for (std::uint64_t d = 2; d * d <= n; ++d)
        if (n % d == 0) return false;
      return n >= 2;
    };
    std::uint64_t expected = 0;
    for (std::uint64_t n = 0; n != 3'000; ++n) {
      expected += is_prime(n);
      ASSERT_EQ(algorithms::count_primes(n), expected) << n;
    }
    EXPECT_EQ(algorithms::count_primes(65'536), 6'542U); // the ends of segments and blocks
    EXPECT_EQ(algorithms::count_primes(65'537), 6'543U);
    EXPECT_EQ(algorithms::count_primes(1'048'576), 82'025U);
    EXPECT_EQ(algorithms::count_primes(1'048'583), 82'026U);
    EXPECT_EQ(algorithms::count_primes(5'000'000), 348'513U);
  });
}

algorithms::matrix random_matrix(std::size_t rows, std::size_t columns, std::uint64_t seed) {
  algorithms::matrix m(rows, columns);
  for (std::size_t i = 0; i != rows * columns; ++i)
    m.row(0)[i] = static_cast<float>(example::random_at(seed, i) % 16);
  return m;
}

TEST_P(algorithms_on, matmul_multiplies_matrices_of_all_shapes) {
  struct shape {
    std::size_t rows, between, columns;
  };
  for (const auto [rows, between, columns] :
       {shape{1, 1, 1}, shape{1, 300, 1}, shape{300, 1, 2}, shape{7, 5, 133}, shape{129, 33, 257},
        shape{128, 128, 128}, shape{0, 3, 4}, shape{3, 0, 4}}) {
    const auto a = random_matrix(rows, between, 1), b = random_matrix(between, columns, 2);
    const auto c = pool_.run([&] { return algorithms::multiply(a, b); });
    ASSERT_EQ(c.rows(), rows);
    ASSERT_EQ(c.columns(), columns);
    for (std::size_t r = 0; r != rows; ++r)
      for (std::size_t k = 0; k != columns; ++k) {
        float expected = 0;
        for (std::size_t i = 0; i != between; ++i) expected += a.row(r)[i] * b.row(i)[k];
        ASSERT_EQ(c.row(r)[k], expected) << r << ' ' << k;
      }
  }
}

TEST(algorithms, matmul_refuses_matrices_without_a_product) {
  EXPECT_THROW(static_cast<void>(algorithms::multiply({2, 3}, {4, 2})), std::invalid_argument);
}

TEST_P(algorithms_on, pi_has_the_same_bits_as_with_one_worker) {
  for (const std::uint64_t samples : {0U, 1U, 4096U, 4097U, 300'001U}) {
    rubato::pool one(1);
    const auto expected = one.run([=] { return algorithms::estimate_pi(samples, 3); });
    EXPECT_EQ(pool_.run([=] { return algorithms::estimate_pi(samples, 3); }), expected) << samples;
  }
}

TEST(algorithms, pi_is_within_a_few_standard_errors) {
  const auto pi = algorithms::estimate_pi(300'000);
  EXPECT_GT(pi.error, 0);
  EXPECT_NEAR(pi.mean, 3.14159265358979, 6 * pi.error);
  EXPECT_NE(pi, algorithms::estimate_pi(300'000, 1)); // another seed
}

TEST_P(algorithms_on, pagerank_has_the_same_bits_as_with_one_worker) {
  const auto web = algorithms::random_graph(3'000, 5, 1);
  rubato::pool one(1);
  const auto expected = one.run([&] { return algorithms::pagerank(web); });
  const auto found = pool_.run([&] { return algorithms::pagerank(web); });
  EXPECT_EQ(found.rank, expected.rank);
  EXPECT_EQ(found.rounds, expected.rounds);
}

TEST(algorithms, pagerank_is_that_of_a_dense_computation) {
  using edges = std::vector<std::pair<algorithms::vertex, algorithms::vertex>>;
  const edges links{{0, 1}, {0, 2}, {1, 2}, {2, 0}, {3, 2}, {4, 4}, {3, 4}, {3, 5}}; // 5 has no link
  const auto found = algorithms::pagerank(algorithms::graph(6, links), 1e-14, 1000);
  std::vector<double> rank(6, 1.0 / 6);
  for (int round = 0; round != 1000; ++round) {
    std::vector<double> next(6, 0.15 / 6);
    for (std::size_t v = 0; v != 6; ++v) {
      const auto out = std::ranges::count(links, v, &edges::value_type::first);
      for (auto& x : next)
        if (out == 0) x += 0.85 * rank[v] / 6;
      for (const auto& [from, to] : links)
        if (from == v) next[to] += 0.85 * rank[v] / static_cast<double>(out);
    }
    rank = next;
  }
  ASSERT_EQ(found.rank.size(), 6U);
  for (std::size_t v = 0; v != 6; ++v) EXPECT_NEAR(found.rank[v], rank[v], 1e-12) << v;
  EXPECT_NEAR(std::accumulate(found.rank.begin(), found.rank.end(), 0.0), 1, 1e-12);
  EXPECT_LT(found.rounds, 1000);
}

TEST(algorithms, graph_refuses_an_edge_of_no_vertex) {
  using edges = std::vector<std::pair<algorithms::vertex, algorithms::vertex>>;
  EXPECT_THROW(algorithms::graph(2, edges{{0, 2}}), std::out_of_range);
  EXPECT_THROW(algorithms::graph(2, edges{{2, 0}}), std::out_of_range);
  EXPECT_EQ(algorithms::pagerank(algorithms::graph(0, edges{})).rank.size(), 0U);
}

TEST_P(algorithms_on, word_count_is_that_of_a_map) {
  std::string text = "  \n";
  for (std::uint64_t i = 0; i != 60'000; ++i) {
    text +=
        std::string(1 + example::random_at(1, i) % 3, static_cast<char>('a' + example::random_at(2, i) % 26));
    text += " \n\t \r"[example::random_at(3, i) % 5];
  }
  text += std::string(200'000, 'x'); // a word longer than a piece of the text
  for (const std::string& t : {text, std::string(), std::string(" \n "), std::string("one")}) {
    std::map<std::string_view, std::uint64_t> expected;
    std::istringstream words(t);
    std::vector<std::string> kept;
    for (std::string word; words >> word;) kept.push_back(word);
    for (const auto& word : kept) ++expected[word];
    const auto counts = pool_.run([&] { return algorithms::count_words(t); });
    EXPECT_TRUE((std::map<std::string_view, std::uint64_t>(counts.begin(), counts.end()) == expected));
  }
}

TEST(algorithms, most_frequent_words_come_first) {
  const auto counts = algorithms::count_words("b a c b a d");
  using words = std::vector<std::pair<std::string_view, std::uint64_t>>;
  EXPECT_EQ(algorithms::most_frequent(counts, 3), (words{{"a", 2}, {"b", 2}, {"c", 1}}));
  EXPECT_EQ(algorithms::most_frequent(counts, 9).size(), 4U);
  EXPECT_EQ(algorithms::most_frequent(counts, 0).size(), 0U);
}

} // namespace
