// The edges that lead to a node of a graph, and what becomes of the node when the last one is resolved.
// docs/design/graphs.md
//
// The word holds three counts: edges that are not resolved in this run, live edges of after(), live edges of
// on(). An edge is resolved once in a run, live or dead. States: n edges left, n > 0, to which the last one
// brings it back: so no pass over the graph resets it, and a run that ends early leaves nothing behind.
//
// Invariant: one thread is told that the node runs, or that it is skipped: the one that resolves the last
// edge.
#pragma once

#include "rubato/detail/base/assert.hpp"
#include "rubato/detail/base/policy.hpp"

#include <cstdint>

namespace rubato::detail {

enum class edge_kind : std::uint8_t { after, on };
/// What an edge has decided about the node that it leads to.
enum class node_fate : std::uint8_t { undecided, runs, skipped };

template<class Policy>
class basic_edge_count {
  static constexpr unsigned bits = 21;
  static constexpr std::uint64_t one_after = std::uint64_t{1} << bits, one_on = one_after << bits;

  typename Policy::template atomic<std::uint64_t> word_{0};
  std::uint32_t after_ = 0, on_ = 0; // written while the graph does not run

  [[nodiscard]] static std::uint64_t left_in(std::uint64_t word) noexcept { return word & most; }

public:
  static constexpr std::uint64_t most = one_after - 1;

  basic_edge_count() noexcept = default;

  // While the graph does not run.
  /// False: there are too many.
  [[nodiscard]] bool add(edge_kind k) noexcept {
    if (edges() == most) return false;
    ++(k == edge_kind::on ? on_ : after_);
    reset();
    return true;
  }
  [[nodiscard]] std::uint64_t edges() const noexcept { return std::uint64_t{after_} + on_; }

  /// In a run, once for each edge.
  [[nodiscard]] node_fate resolve(edge_kind k, bool live) noexcept {
    std::uint64_t const added = !live ? 0 : k == edge_kind::on ? one_on : one_after;
    // acquire: pairs with the release below, because the node uses what its predecessors have written. The
    // last edge needs no read-modify-write: no other thread changes the word any more.
    std::uint64_t now = word_.load(std::memory_order_acquire);
    if (left_in(now) != 1) {
      // acq_rel: pairs with itself and with the load above.
      now = word_.fetch_add(added - 1, std::memory_order_acq_rel);
      RUBATO_ASSERT_STEP(left_in(now) != 0, "an edge of a graph is resolved twice in a run", now);
      if (left_in(now) != 1) return node_fate::undecided;
    }
    now += added;
    reset();
    bool const any_on = now >= one_on;
    bool const any_after = (now & (one_on - 1)) >= one_after;
    return (on_ == 0 || any_on) && (after_ == 0 || any_after) ? node_fate::runs : node_fate::skipped;
  }

private:
  /// relaxed: the next run begins after the end of this one.
  void reset() noexcept { word_.store(edges(), std::memory_order_relaxed); }
};

using edge_count = basic_edge_count<std_policy>;

} // namespace rubato::detail
