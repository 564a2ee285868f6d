// A directed graph, stored as compressed sparse rows.
#pragma once

#include "shared/random_at.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace algorithms {

using vertex = std::uint32_t;

class graph {
  std::vector<std::size_t> begin_; ///< of each vertex's sources, and the end of the last one's
  std::vector<vertex> sources_;
  std::vector<vertex> links_;

public:
  /// `edges`: from, to. Throws std::out_of_range for a vertex that is not below `vertices`.
  graph(vertex vertices, std::span<const std::pair<vertex, vertex>> edges)
      : begin_(std::size_t{vertices} + 2)
      , sources_(edges.size())
      , links_(vertices) {
    // Counts, sums them up, and puts each edge where the sum of its vertex has come to.
    for (const auto& [from, to] : edges) {
      if (from >= vertices || to >= vertices)
        throw std::out_of_range("an edge of a vertex that is not there");
      ++begin_[std::size_t{to} + 2];
      ++links_[from];
    }
    for (std::size_t v = 2; v != begin_.size(); ++v) begin_[v] += begin_[v - 1];
    for (const auto& [from, to] : edges) sources_[begin_[std::size_t{to} + 1]++] = from;
    begin_.pop_back();
  }

  vertex size() const { return static_cast<vertex>(links_.size()); }
  std::size_t edges() const { return sources_.size(); }
  /// The vertices with an edge to v.
  std::span<const vertex> sources(vertex v) const {
    return std::span(sources_).subspan(begin_[v], begin_[std::size_t{v} + 1] - begin_[v]);
  }
  /// The number of edges that leave v.
  vertex links(vertex v) const { return links_[v]; }
};

/// A few vertices have most of the edges, as in the web: the k-th is linked to about as often as 1 / sqrt(k)
/// says. Every eighth vertex has no link itself.
inline graph random_graph(vertex vertices, vertex links_each, std::uint64_t seed = 0) {
  std::vector<std::pair<vertex, vertex>> edges;
  edges.reserve(std::size_t{vertices} * links_each);
  for (vertex v = 0; v != vertices; ++v)
    for (vertex k = 0; k != links_each && v % 8 != 7; ++k) {
      const double x = example::unit_at(seed, std::uint64_t{v} * links_each + k);
      edges.emplace_back(v, static_cast<vertex>(x * x * vertices));
    }
  return {vertices, edges};
}

} // namespace algorithms
