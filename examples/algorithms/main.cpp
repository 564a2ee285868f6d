// algorithms: well-known parallel algorithms, each as a header of a few lines.
//
//   algorithms mergesort 25000000 --workers 2
#include "matmul.hpp"
#include "mergesort.hpp"
#include "monte_carlo.hpp"
#include "options.hpp"
#include "pagerank.hpp"
#include "quicksort.hpp"
#include "shared/random_at.hpp"
#include "shared/workers.hpp"
#include "sieve.hpp"
#include "word_count.hpp"

#include <rubato/pool.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using algorithms::options;
using number = std::uint32_t;

/// Runs f on the pool's workers and this thread, and says how long that took.
template<class F>
auto timed(const options& asked, rubato::pool& pool, F f) {
  const auto begin = std::chrono::steady_clock::now();
  auto result = pool.run(f);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  std::fprintf(stderr, "%s: %.1f ms with %u workers\n", asked.algorithm.c_str(), took.count(), asked.workers);
  return result;
}

template<class F>
void sort(const options& asked, rubato::pool& pool, F sort_them) {
  std::vector<number> numbers(asked.size);
  for (std::size_t i = 0; i != numbers.size(); ++i)
    numbers[i] = static_cast<number>(example::random_at(asked.seed, i));
  const auto sum = [&] { return std::accumulate(numbers.begin(), numbers.end(), std::uint64_t{0}); };
  const auto before = sum();
  timed(asked, pool, [&] {
    sort_them(std::span(numbers));
    return 0;
  });
  if (!std::ranges::is_sorted(numbers) || sum() != before) throw std::logic_error("these are not sorted");
  std::printf("%zu numbers, from %u to %u\n", numbers.size(), numbers.front(), numbers.back());
}

void multiply(const options& asked, rubato::pool& pool) {
  const auto n = static_cast<std::size_t>(asked.size);
  algorithms::matrix a(n, n), b(n, n);
  // Small integers: the sums are exact. Each row of b adds up to the same as the first one, whatever a is.
  for (std::size_t r = 0; r != n; ++r)
    for (std::size_t c = 0; c != n; ++c) {
      a.row(r)[c] = static_cast<float>(example::random_at(asked.seed, r * n + c) % 16);
      b.row(r)[c] = static_cast<float>((r + c) % n % 8);
    }
  const auto product = timed(asked, pool, [&] { return algorithms::multiply(a, b); });
  const auto sum_of = [n](const float* row) { return std::accumulate(row, row + n, 0.0); };
  double trace = 0;
  for (std::size_t r = 0; r != n; ++r) {
    if (sum_of(product.row(r)) != sum_of(a.row(r)) * sum_of(b.row(0)))
      throw std::logic_error("row " + std::to_string(r) + " is wrong");
    trace += product.row(r)[r];
  }
  std::printf("%zu x %zu, trace %.0f\n", n, n, trace);
}

void rank(const options& asked, rubato::pool& pool) {
  const auto web = algorithms::random_graph(static_cast<algorithms::vertex>(asked.size), 16, asked.seed);
  const auto ranking = timed(asked, pool, [&] { return algorithms::pagerank(web); });
  std::vector<algorithms::vertex> best(web.size());
  std::iota(best.begin(), best.end(), 0U);
  const auto top = best.begin() + static_cast<std::ptrdiff_t>(std::min(asked.most, best.size()));
  std::ranges::partial_sort(best, top, std::ranges::greater(), [&](auto v) { return ranking.rank[v]; });
  std::printf("%u pages, %zu links, %d rounds\n", web.size(), web.edges(), ranking.rounds);
  for (auto v = best.begin(); v != top; ++v) std::printf("%12.9f  page %u\n", ranking.rank[*v], *v);
}

std::string text_of(const std::vector<std::string>& files) {
  std::string text;
  const auto append = [&text](std::istream& from) {
    text.append(std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>());
  };
  if (files.empty()) append(std::cin);
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    append(file);
    if (!file) throw std::runtime_error("cannot read " + path + ": " + std::strerror(errno));
    text += '\n'; // a word ends with its file
  }
  return text;
}

void count(const options& asked, rubato::pool& pool) {
  const std::string text = text_of(asked.files);
  const auto counts = timed(asked, pool, [&] { return algorithms::count_words(text); });
  for (const auto& [word, times] : algorithms::most_frequent(counts, asked.most))
    std::printf("%10llu  %.*s\n", static_cast<unsigned long long>(times), static_cast<int>(word.size()),
                word.data());
}

void run(const options& asked) {
  rubato::pool pool(example::with_workers(asked.workers).name("algorithms"));
  const std::string& name = asked.algorithm;
  if (name == "mergesort") sort(asked, pool, [](std::span<number> all) { algorithms::mergesort(all); });
  if (name == "quicksort") sort(asked, pool, [](std::span<number> all) { algorithms::quicksort(all); });
  if (name == "sieve") {
    const auto primes = timed(asked, pool, [&] { return algorithms::count_primes(asked.size); });
    std::printf("%llu primes\n", static_cast<unsigned long long>(primes));
  }
  if (name == "matmul") multiply(asked, pool);
  if (name == "pi") {
    const auto pi = timed(asked, pool, [&] { return algorithms::estimate_pi(asked.size, asked.seed); });
    std::printf("%.17g, standard error %.2g\n", pi.mean, pi.error);
  }
  if (name == "pagerank") rank(asked, pool);
  if (name == "words") count(asked, pool);
}

} // namespace

int main(int argc, char** argv) {
  int status = algorithms::done;
  const auto asked = algorithms::parse_options(argc, argv, status);
  if (!asked) return status;
  try {
    run(*asked);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "algorithms: %s\n", e.what());
    return algorithms::failed;
  }
}
