// The edges that lead to a node of a graph: one thread is told that it runs, after all predecessors, and the
// next run finds the count as it was.
#include <gtest/gtest.h>

#include "explore/explore.hpp"
#include "explore/policy.hpp"

#include "rubato/detail/graph/edge_count.hpp"

#include <memory>

using namespace rubato_test;
using rubato::detail::edge_kind;
using rubato::detail::node_fate;

namespace {

struct state {
  rubato::detail::basic_edge_count<policy> edges;
  policy::plain<int> data[3];
  policy::plain<int> ran, skipped;

  void end_predecessor(int i, edge_kind k, bool live) {
    data[i].set(1);
    switch (edges.resolve(k, live)) {
    case node_fate::undecided:
      return;
    case node_fate::runs: {
      int sum = 0;
      for (auto& d : data) sum += d.get();
      EXPLORE_ASSERT(sum == 3);
      ran.set(ran.get() + 1);
      return;
    }
    case node_fate::skipped:
      skipped.set(skipped.get() + 1);
    }
  }
};

TEST(edge_count_protocol, the_last_predecessor_runs_the_node) {
  result const r = run({.preemptions = 3}, [](execution& e) {
    auto const s = std::make_shared<state>();
    for (int i = 0; i != 3; ++i) {
      s->data[i].set(0);
      static_cast<void>(s->edges.add(i == 0 ? edge_kind::on : edge_kind::after));
    }
    s->ran.set(0);
    s->skipped.set(0);
    e.thread([s] { s->end_predecessor(0, edge_kind::on, true); });
    e.thread([s] { s->end_predecessor(1, edge_kind::after, false); });
    e.thread([s] { s->end_predecessor(2, edge_kind::after, true); });
    e.finally([s] { EXPLORE_ASSERT(s->ran.get() == 1 && s->skipped.get() == 0); });
  });
  EXPECT_TRUE(r.ok && r.exhausted) << r.message;
}

TEST(edge_count_protocol, without_a_live_edge_it_is_skipped_once) {
  result const r = run({.preemptions = 3}, [](execution& e) {
    auto const s = std::make_shared<state>();
    for (int i = 0; i != 3; ++i) {
      s->data[i].set(0);
      static_cast<void>(s->edges.add(edge_kind::after));
    }
    s->ran.set(0);
    s->skipped.set(0);
    for (int i = 0; i != 3; ++i) e.thread([s, i] { s->end_predecessor(i, edge_kind::after, false); });
    e.finally([s] { EXPLORE_ASSERT(s->ran.get() == 0 && s->skipped.get() == 1); });
  });
  EXPECT_TRUE(r.ok && r.exhausted) << r.message;
}

TEST(edge_count_protocol, the_next_run_begins_with_all_edges) {
  rubato::detail::edge_count edges;
  ASSERT_TRUE(edges.add(edge_kind::after));
  ASSERT_TRUE(edges.add(edge_kind::on));
  for (int i = 0; i != 3; ++i) {
    ASSERT_EQ(edges.resolve(edge_kind::after, true), node_fate::undecided);
    ASSERT_EQ(edges.resolve(edge_kind::on, i != 1), i != 1 ? node_fate::runs : node_fate::skipped);
  }
}

} // namespace
