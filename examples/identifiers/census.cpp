#include "census.hpp"

#include "per_thread.hpp"
#include "progress.hpp"
#include "walk.hpp"

#include <rubato/algorithm.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <tuple>
#include <utility>

namespace identifiers {
namespace {

bool more_frequent(const word& a, const word& b) {
  return std::tie(b.count, a.text) < std::tie(a.count, b.text);
}

/// One partition of the result.
struct part {
  std::uint64_t distinct = 0;
  std::uint64_t total = 0;
  std::vector<word> best; ///< the most frequent ones, in no order
};

/// Merges one partition of all threads' tables, and keeps what can be among the `top` most frequent of all.
part merge_partition(const std::vector<std::unique_ptr<tally>>& tallies, std::size_t partition,
                     std::size_t top) {
  part result;
  word_table merged;
  for (const auto& one : tallies) {
    auto& table = one->tables[partition];
    if (table.size() > merged.size()) std::swap(table, merged); // the larger one stays where it is
    merged.add(std::exchange(table, word_table{}));
  }
  result.distinct = merged.size();
  result.best.reserve(merged.size());
  merged.for_each([&](const word& found) {
    result.total += found.count;
    result.best.push_back(found);
  });
  if (top < result.best.size()) {
    std::ranges::nth_element(result.best, result.best.begin() + static_cast<std::ptrdiff_t>(top),
                             more_frequent);
    result.best.resize(top);
  }
  return result;
}

/// Puts together what all threads found.
census merge(std::vector<std::unique_ptr<tally>> tallies, std::size_t top) {
  std::array<part, partitions> parts;
  rubato::for_index(std::size_t{0}, partitions,
                    [&](std::size_t i) { parts[i] = merge_partition(tallies, i, top); });

  census result;
  for (auto& one : tallies) {
    result.seen.add(one->seen);
    std::ranges::move(one->problems, std::back_inserter(result.problems));
    result.texts.push_back(std::move(one->texts));
  }
  std::ranges::sort(result.problems, {}, &problem::path);

  std::array<std::size_t, partitions> begin{};
  std::size_t candidates = 0;
  for (std::size_t i = 0; i < partitions; ++i) {
    result.distinct += parts[i].distinct;
    result.total += parts[i].total;
    begin[i] = std::exchange(candidates, candidates + parts[i].best.size());
  }
  result.top.resize(candidates);
  rubato::for_index(std::size_t{0}, partitions, [&](std::size_t i) {
    std::ranges::copy(parts[i].best, result.top.begin() + static_cast<std::ptrdiff_t>(begin[i]));
  });
  rubato::sort(result.top, more_frequent);
  if (top < candidates) result.top.resize(top);
  return result;
}

} // namespace

census take_census(rubato::pool& pool, const std::vector<std::string>& paths, std::size_t top,
                   const std::string& label) {
  progress meter(label);
  const auto begin = std::chrono::steady_clock::now();
  auto result = pool.run([&] {
    per_thread<tally> tallies(pool);
    walk(paths, tallies, meter);
    return merge(tallies.take(), top);
  });
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

} // namespace identifiers
