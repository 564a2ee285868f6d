// Graphs: order, conditions, nested graphs, coroutines, misuse.
#include <gtest/gtest.h>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace rubato_test;

namespace {

using namespace std::chrono_literals;
using node = rubato::task_graph::node;

class task_graphs : public on_workers {
protected:
  rubato::task_graph graph;
  std::atomic<int> ran{0};

  auto counting() {
    return [this] { ++ran; };
  }
};
RUBATO_TEST_WITH_WORKERS(task_graphs, all_counts);

TEST_P(task_graphs, an_empty_one_runs) {
  graph.run(pool);
  EXPECT_EQ(graph.size(), 0U);
}

TEST_P(task_graphs, predecessors_end_before_successors_begin) {
  int a = 0, b = 0, c = 0, d = 0; // plain: the edges order them
  node const na = graph.add("a", [&] { ++a; });
  node const nb = graph.add([&] { b = a + 1; }).after(na);
  node const nc = graph.add([&] { c = a + 2; }).after(na);
  graph.add("d", [&] { d = b + c; }).after(nb, nc);
  for (int i = 1; i <= 100; ++i) {
    graph.run(pool);
    ASSERT_EQ(d, 2 * i + 3);
  }
}

TEST_P(task_graphs, a_wide_one_runs_every_node_once) {
  std::vector<std::atomic<int>> times(2'000);
  node const first = graph.add([] {});
  node last = graph.add([] {});
  for (auto& t : times) {
    node n = graph.add([&t] { ++t; });
    n.after(first);
    last.after(n);
  }
  unsigned const rounds = scaled(20);
  for (unsigned i = 0; i != rounds; ++i) graph.run(pool);
  for (auto const& t : times) ASSERT_EQ(t.load(), static_cast<int>(rounds));
}

TEST_P(task_graphs, a_long_chain_needs_no_stack) {
  std::size_t const length = sized(100'000);
  std::size_t at = 0;
  node before = graph.add([&] { ++at; });
  for (std::size_t i = 1; i != length; ++i) {
    node n = graph.add([&] { ++at; });
    n.after(before);
    before = n;
  }
  graph.run(pool);
  EXPECT_EQ(at, length);
}

TEST_P(task_graphs, a_run_within_a_task_of_the_pool) {
  node const a = graph.add(counting());
  graph.add(counting()).after(a);
  pool.run([&] { graph.run(); });
  EXPECT_EQ(pool.spawn([&] { return graph.run(), ran.load(); }).get(), 4);
}

enum class way { left, right, none };

/// A choice and a join behind it.
TEST_P(task_graphs, a_join_behind_a_switch_runs_once) {
  std::string path;
  way next = way::left;
  node choice = graph.add([&] { return next; });
  node left = graph.add([&] { path += 'l'; });
  node right = graph.add([&] { path += 'r'; });
  node behind_left = graph.add([&] { path += 'L'; });
  behind_left.after(left);
  choice.on(way::left, left).on(way::right, right);
  graph.add([&] { path += 'j'; }).after(behind_left, right);
  for (way const w : {way::left, way::right, way::none, way::left}) {
    next = w;
    path += '|';
    graph.run(pool);
  }
  EXPECT_EQ(path, "|lLj|rj||lLj");
}

TEST_P(task_graphs, two_choices_of_one_node_run_it_once) {
  node a = graph.add([] { return true; });
  node b = graph.add([] { return 7; });
  node c = graph.add(counting());
  a.on(true, c);
  b.on(7, c);
  graph.run(pool);
  EXPECT_EQ(ran, 1);
}

TEST_P(task_graphs, an_integer_without_on_edges_is_dropped) {
  node const a = graph.add([] { return 3; });
  graph.add(counting()).after(a);
  graph.run(pool);
  EXPECT_EQ(ran, 1);
}

TEST_P(task_graphs, both_kinds_of_edges_must_have_a_live_one) {
  int result = 1;
  node a = graph.add([&] { return result; });
  node const skipped = graph.add(counting());
  a.on(2, skipped);
  node both = graph.add(counting());
  both.after(skipped); // dead unless the result is 2
  a.on(1, both);
  a.on(2, both);
  graph.run(pool);
  EXPECT_EQ(ran, 0);
  result = 2;
  graph.run(pool);
  EXPECT_EQ(ran, 2);
}

TEST_P(task_graphs, duplicate_edges_count_once) {
  node a = graph.add([] { return 1; });
  node b = graph.add(counting());
  b.after(a, a).after(a);
  a.on(1, b, b).on(1, b);
  graph.run(pool);
  EXPECT_EQ(ran, 1);
}

TEST_P(task_graphs, coroutines_are_nodes) {
  std::vector<int> order;
  node a = graph.add("a", [&]() -> rubato::task<int> {
    co_await rubato::sleep_for(1ms);
    order.push_back(1);
    co_await rubato::yield();
    co_return 5;
  });
  node b = graph.add([&]() -> rubato::task<> {
    order.push_back(2);
    co_return;
  });
  node wrong = graph.add([&] { order.push_back(9); });
  a.on(5, b).on(6, wrong);
  graph
      .add([&](std::stop_token) -> rubato::future<void> {
        return rubato::spawn(pool, [&] { order.push_back(3); });
      })
      .after(b);
  for (int i = 0; i != 3; ++i) {
    order.clear();
    graph.run(pool);
    ASSERT_EQ(order, (std::vector{1, 2, 3}));
  }
}

TEST_P(task_graphs, a_graph_within_a_graph) {
  rubato::task_graph inner;
  int x = 0;
  node const i1 = inner.add([&] { x *= 2; });
  inner.add([&] { ++ran; });
  inner.add([&] { x += 1; }).after(i1);
  node const before = graph.add([&] { x = 10; });
  node const middle = graph.add("inner", inner).after(before);
  int seen = 0;
  graph.add([&] { seen = x; }).after(middle);
  rubato::task_graph empty;
  graph.add("empty", empty);
  rubato::task_graph outer;
  outer.add("all", graph);
  for (int i = 1; i <= 50; ++i) {
    outer.run(pool);
    ASSERT_EQ(seen, 21);
    ASSERT_EQ(ran, i);
  }
}

// The thread that begins the second nested run ends the first one by that, which makes a node ready.
TEST_P(task_graphs, regression_a_node_behind_a_nested_graph_was_lost) {
  rubato::task_graph first, second;
  first.add(counting());
  second.add(counting());
  node const a = graph.add("first", first);
  graph.add("second", second);
  node const b = graph.add(counting()).after(a);
  graph.add(counting()).after(a, b);
  for (int i = 1; i <= 50; ++i) {
    graph.run(pool);
    ASSERT_EQ(ran, 4 * i);
  }
}

TEST_P(task_graphs, a_node_runs_another_graph) {
  rubato::task_graph inner;
  std::atomic<int> sum{0};
  for (int i = 0; i != 20; ++i) inner.add([&] { ++sum; });
  graph.add([&] {
    for (int i = 0; i != 10; ++i) inner.run(); // a loop
  });
  graph.run(pool);
  EXPECT_EQ(sum, 200);
}

TEST_P(task_graphs, two_nodes_run_the_same_graph_one_fails) {
  rubato::task_graph inner;
  rubato::event go;
  inner.add([&]() -> rubato::task<> { co_await go.wait(); });
  node const first = graph.add("first", inner);
  graph.add("second", inner);
  graph.add([&]() -> rubato::task<> {
    go.set();
    co_return;
  });
  // Whichever begins while the other runs.
  try {
    graph.run(pool);
  } catch (std::logic_error const&) {
  }
  go.set();
  inner.run(pool);
  static_cast<void>(first);
}

TEST_P(task_graphs, a_coroutine_awaits_a_run) {
  node const a = graph.add(counting());
  graph
      .add([&]() -> rubato::task<> {
        co_await rubato::sleep_for(1ms);
        ++ran;
      })
      .after(a);
  auto const frames = [](rubato::task_graph& g) -> rubato::task<> {
    for (int i = 0; i != 10; ++i) co_await g.async_run();
  };
  rubato::spawn(pool, frames(graph)).get();
  EXPECT_EQ(ran, 20);
  rubato::pool other(1);
  auto const elsewhere = [](rubato::task_graph& g, rubato::pool& p) -> rubato::task<> {
    co_await g.async_run(p);
  };
  if (GetParam() == 0) return; // no thread would drive the pool
  rubato::spawn(other, elsewhere(graph, pool)).get();
  EXPECT_EQ(ran, 22);
}

TEST_P(task_graphs, handles_stay_valid_when_the_graph_moves) {
  node const a = graph.add(counting());
  rubato::task_graph moved = std::move(graph);
  node const b = moved.add(counting()).after(a);
  moved.run(pool);
  graph = std::move(moved);
  graph.add(counting()).after(b);
  graph.run(pool);
  EXPECT_EQ(ran, 5);
  moved.run(pool); // empty
}

TEST_P(task_graphs, grow_between_runs) {
  node last = graph.add(counting());
  for (int i = 1; i != 20; ++i) {
    node const n = graph.add(counting());
    last.after(n);
    ran = 0;
    graph.run(pool);
    ASSERT_EQ(ran, i + 1);
  }
}

template<class F>
std::string what(F f) {
  try {
    f();
  } catch (std::invalid_argument const& e) {
    return e.what();
  } catch (std::logic_error const& e) {
    return std::string("logic: ") + e.what();
  }
  return "nothing";
}

TEST_P(task_graphs, a_cycle_is_refused_by_name) {
  node a = graph.add("start", counting());
  node b = graph.add("again", counting());
  node c = graph.add(counting());
  node const d = graph.add("outside", counting());
  b.after(a, c);
  c.after(b, d);
  for (int i = 0; i != 2; ++i) {
    std::string const said = what([&] { graph.run(pool); });
    EXPECT_TRUE(said.find(": again -> #2 -> again;") != std::string::npos ||
                said.find(": #2 -> again -> #2;") != std::string::npos)
        << said;
    EXPECT_EQ(said.find("outside"), std::string::npos) << said;
  }
  EXPECT_EQ(ran, 0);
}

TEST_P(task_graphs, misuse_is_refused_at_the_call) {
  rubato::task_graph other;
  node a = graph.add("a", counting());
  node b = graph.add("b", [] { return 1; });
  node const o = other.add("o", counting());
  EXPECT_NE(what([&] { a.after(o); }).find("different graphs"), std::string::npos);
  EXPECT_NE(what([&] { a.after(a); }).find("after itself"), std::string::npos);
  EXPECT_NE(what([&] { b.on(1, o); }).find("different graphs"), std::string::npos);
  EXPECT_NE(what([&] { b.on(1, b); }).find("another graph"), std::string::npos);
  EXPECT_NE(what([&] { a.on(1, b); }).find("no integer"), std::string::npos);
  EXPECT_NE(what([&] { graph.add(graph); }).find("itself"), std::string::npos);
  graph.run(pool);
  EXPECT_EQ(ran, 1);
}

TEST_P(task_graphs, a_running_graph_refuses_a_run_and_a_change) {
  std::string second, change;
  graph.add([&] { second = what([&] { graph.run(); }); });
  node const a = graph.add([&] { change = what([&] { graph.add([] {}); }); });
  static_cast<void>(a);
  graph.run(pool);
  EXPECT_EQ(second.rfind("logic: ", 0), 0U);
  EXPECT_EQ(change.rfind("logic: ", 0), 0U);
  EXPECT_EQ(graph.size(), 2U);
}

TEST_P(task_graphs, two_threads_run_one_graph_in_turn_or_are_refused) {
  for (int i = 0; i != 20; ++i) graph.add(counting());
  std::atomic<int> good{0};
  auto const runs = [&] {
    for (unsigned i = 0, n = scaled(300); i != n; ++i) {
      try {
        graph.run(pool);
        ++good;
      } catch (std::logic_error const&) {
      }
    }
  };
  std::thread second(runs);
  runs();
  second.join();
  EXPECT_EQ(ran, 20 * good);
  EXPECT_GT(good, 0);
}

TEST(task_graph_pictures, names_are_escaped_and_graphs_nested) {
  rubato::task_graph inner, graph;
  inner.add("x", [] {});
  node a = graph.add("say \"hi\"\\\n", [] { return 2; });
  node b = graph.add([] {});
  node c = graph.add("box", inner).after(b);
  b.after(a);
  a.on(2, c);
  std::ostringstream out;
  graph.dot(out);
  EXPECT_EQ(out.str(), R"(digraph {
  compound=true;
  n0 [label="say \"hi\"\\\n"];
  n1 [label="#1"];
  subgraph cluster_n2 {
    label="box";
    n2 [shape=point, style=invis];
    n2_0 [label="x"];
  }
  n0 -> n1;
  n0 -> n2 [label="2", style=dashed, lhead=cluster_n2];
  n1 -> n2 [lhead=cluster_n2];
}
)");
}

} // namespace
