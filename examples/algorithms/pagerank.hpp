// PageRank: how often a walk that follows links at random, and starts afresh now and then, comes by a page.
#pragma once

#include "graph.hpp"

#include <rubato/algorithm.hpp>

#include <cmath>
#include <cstddef>
#include <functional>
#include <ranges>
#include <vector>

namespace algorithms {

struct ranking {
  std::vector<double> rank; ///< of each vertex; their sum is 1
  int rounds = 0;
};

/// Iterates until a round changes the ranks by less than `enough` in total, or `most` times. Source: S. Brin
/// and L. Page, 1998; the rank of vertices without links is spread over all.
///
/// Each vertex adds up what its sources pass on, so no two threads write to the same place. Some vertices
/// have far more sources than others, and the loop is split where a thread is idle, wherever that is. The
/// sums over all vertices are deterministic, hence the ranks and the number of rounds too.
inline ranking pagerank(const graph& web, double enough = 1e-9, int most = 100) {
  constexpr double damping = 0.85;
  const auto n = static_cast<double>(web.size());
  const auto all = std::views::iota(vertex{0}, web.size());
  ranking result{std::vector<double>(web.size(), 1 / n), 0};
  std::vector<double> passed_on(web.size()), next(web.size());

  for (double change = 1; change >= enough && result.rounds < most; ++result.rounds) {
    const auto sum = [&](auto f) {
      return rubato::reduce(rubato::deterministic, all, 0.0, std::plus<>(), f);
    };
    const double unlinked = sum([&](vertex v) { return web.links(v) == 0 ? result.rank[v] : 0; });
    rubato::for_range(vertex{0}, web.size(), [&](vertex lo, vertex hi) {
      for (vertex v = lo; v != hi; ++v)
        passed_on[v] = web.links(v) == 0 ? 0 : damping * result.rank[v] / web.links(v);
    });
    const double everyone = (1 - damping + damping * unlinked) / n;
    rubato::for_range(vertex{0}, web.size(), [&](vertex lo, vertex hi) {
      for (vertex v = lo; v != hi; ++v) {
        next[v] = everyone;
        for (const vertex source : web.sources(v)) next[v] += passed_on[source];
      }
    });
    change = sum([&](vertex v) { return std::abs(next[v] - result.rank[v]); });
    result.rank.swap(next);
  }
  return result;
}

} // namespace algorithms
