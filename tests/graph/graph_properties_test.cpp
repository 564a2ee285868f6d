// Random graphs with random conditions against a serial reference. Needs RapidCheck.
#if defined(RUBATO_HAS_RAPIDCHECK)

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "support/pools.hpp"

#include <rubato/task.hpp>
#include <rubato/task_graph.hpp>
#include <rubato/this_task.hpp>

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <vector>

using namespace rubato_test;

namespace {

class graph_properties : public on_workers {};
RUBATO_TEST_WITH_WORKERS(graph_properties, all_counts);

struct edge {
  std::size_t to;
  int on; ///< the result that chooses it; -1: an edge of after()
};

/// A graph whose edges lead from lower to higher numbers, with the results of its nodes.
struct plan {
  std::vector<std::vector<edge>> edges;
  std::vector<int> results;

  [[nodiscard]] std::vector<int> reference() const {
    std::size_t const n = edges.size();
    std::vector<int> on(n), after(n), live_on(n), live_after(n), runs(n);
    for (auto const& from : edges)
      for (edge const& e : from) ++(e.on < 0 ? after : on)[e.to];
    for (std::size_t i = 0; i != n; ++i) {
      runs[i] = (on[i] == 0 || live_on[i] != 0) && (after[i] == 0 || live_after[i] != 0) ? 1 : 0;
      if (runs[i] == 0) continue;
      for (edge const& e : edges[i])
        if (e.on < 0)
          ++live_after[e.to];
        else if (e.on == results[i])
          ++live_on[e.to];
    }
    return runs;
  }
};

plan make_plan(std::vector<unsigned> const& numbers) {
  plan p;
  std::size_t const n = numbers.size();
  p.edges.resize(n);
  p.results.resize(n);
  for (std::size_t i = 0; i != n; ++i) {
    unsigned x = numbers[i];
    auto const next = [&x](unsigned below) {
      x = x * 1664525U + 1013904223U;
      return (x >> 16U) % below;
    };
    p.results[i] = static_cast<int>(next(3));
    for (unsigned k = i != 0 ? next(4) : 0; k != 0; --k) {
      edge const e{i, static_cast<int>(next(5)) - 2 < 0 ? -1 : static_cast<int>(next(3))};
      auto& from = p.edges[next(static_cast<unsigned>(i))];
      bool known = false;
      for (edge const& other : from) known = known || (other.to == e.to && other.on == e.on);
      if (!known) from.push_back(e);
    }
  }
  return p;
}

TEST_P(graph_properties, random_graphs_run_as_the_reference_does) {
  EXPECT_TRUE(rc::check([&](std::vector<unsigned> const& numbers) {
    plan const p = make_plan(numbers);
    std::vector<int> const expected = p.reference();
    std::size_t const n = numbers.size();
    std::vector<std::atomic<int>> ran(n), ended(n);
    std::atomic<int> too_early{0};
    std::vector<std::vector<std::size_t>> before(n);
    std::list<rubato::task_graph> within;
    rubato::task_graph graph;
    std::vector<rubato::task_graph::node> nodes;
    for (std::size_t i = 0; i != n; ++i) {
      for (edge const& e : p.edges[i]) before[e.to].push_back(i);
      auto const body = [&, i] {
        ++ran[i];
        for (std::size_t const b : before[i])
          if (expected[b] != 0 && ended[b] == 0) ++too_early;
      };
      bool chooses = false;
      for (edge const& e : p.edges[i]) chooses = chooses || e.on >= 0;
      if (!chooses && numbers[i] % 3 == 0) {
        // A graph within: its last node has a predecessor, which is perhaps within as well.
        rubato::task_graph& inner = within.emplace_back();
        auto const last = inner.add([&, i, body] {
          body();
          ended[i] = 1;
        });
        for (unsigned k = numbers[i] % 4; k != 0; --k) {
          rubato::task_graph& innermost = within.emplace_back();
          innermost.add([] {});
          auto end = last;
          end.after(k % 2 == 0 ? inner.add(innermost) : inner.add([] {}));
        }
        nodes.push_back(graph.add(inner));
      } else if (numbers[i] % 7 == 0)
        nodes.push_back(graph.add([&, i, body]() -> rubato::task<int> {
          body();
          co_await rubato::yield();
          ended[i] = 1;
          co_return p.results[i];
        }));
      else
        nodes.push_back(graph.add([&, i, body] {
          body();
          ended[i] = 1;
          return p.results[i];
        }));
    }
    for (std::size_t i = 0; i != n; ++i)
      for (edge const& e : p.edges[i])
        if (e.on < 0)
          nodes[e.to].after(nodes[i]);
        else
          nodes[i].on(e.on, nodes[e.to]);
    for (int round = 0; round != 3; ++round) {
      graph.run(pool);
      for (std::size_t i = 0; i != n; ++i) {
        RC_ASSERT(ran[i].exchange(0) == expected[i]);
        ended[i] = 0;
      }
    }
    RC_ASSERT(too_early == 0);
  }));
}

} // namespace

#endif
