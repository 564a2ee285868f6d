// Graphs whose nodes fail, that are stopped, or whose pool ends.
#include <gtest/gtest.h>

#include "support/outcome.hpp"
#include "support/pools.hpp"
#include "support/scale.hpp"
#include "support/waiting.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace rubato_test;

namespace {

using namespace std::chrono_literals;
using node = rubato::task_graph::node;

class graph_failures : public on_workers {};
RUBATO_TEST_WITH_WORKERS(graph_failures, all_counts);

/// Layers of ten, each node behind two of the layer before; a third of the nodes are coroutines.
class layered {
public:
  static constexpr int nodes = 50;
  rubato::task_graph graph;
  std::atomic<int> throws{-1};
  std::vector<std::atomic<int>> ran = std::vector<std::atomic<int>>(nodes);

  layered() {
    std::vector<node> all;
    for (int i = 0; i != nodes; ++i) {
      if (i % 3 == 1)
        all.push_back(graph.add([this, i]() -> rubato::task<> {
          ++ran[static_cast<std::size_t>(i)];
          co_await rubato::yield();
          if (throws == i) throw failure(i);
        }));
      else
        all.push_back(graph.add([this, i] {
          ++ran[static_cast<std::size_t>(i)];
          if (throws == i) throw failure(i);
        }));
      if (i >= 10)
        all.back().after(all[static_cast<std::size_t>(i - 10)],
                         all[static_cast<std::size_t>(i - 10 + (i % 10 == 9 ? -1 : 1))]);
    }
  }
  void expect_all_ran_once() {
    for (auto& r : ran) ASSERT_EQ(r.exchange(0), 1);
  }
};

TEST_P(graph_failures, each_node_throws_in_turn_then_a_good_run) {
  layered l;
  for (int i = 0; i != layered::nodes; ++i) {
    l.throws = i;
    try {
      l.graph.run(pool);
      FAIL() << "no exception from node " << i;
    } catch (failure const& e) {
      ASSERT_EQ(e.number, i);
    }
    for (auto& r : l.ran) ASSERT_LE(r.exchange(0), 1);
    l.throws = -1;
    l.graph.run(pool);
    l.expect_all_ran_once();
  }
}

TEST_P(graph_failures, a_failure_in_a_nested_graph_arrives) {
  layered inner;
  inner.throws = 23;
  rubato::task_graph outer;
  std::atomic<int> behind{0};
  node const n = outer.add("inner", inner.graph);
  outer.add([&] { ++behind; }).after(n);
  EXPECT_THROW(outer.run(pool), failure);
  EXPECT_EQ(behind, 0);
  for (auto& r : inner.ran) r = 0;
  inner.throws = -1;
  outer.run(pool);
  inner.expect_all_ran_once();
  EXPECT_EQ(behind, 1);
}

TEST_P(graph_failures, no_node_begins_after_a_failure) {
  rubato::task_graph graph;
  std::atomic<int> ran{0};
  node last = graph.add([&]() -> void { throw failure(1); });
  for (int i = 0; i != 20; ++i) {
    node const n = graph.add([&] { ++ran; }).after(last);
    last = n;
  }
  EXPECT_THROW(graph.run(pool), failure);
  EXPECT_EQ(ran, 0);
}

TEST_P(graph_failures, a_running_node_sees_the_stop) {
  rubato::task_graph graph;
  std::atomic<bool> begun{false}, stopped{false};
  graph.add([&](std::stop_token t) -> rubato::task<> {
    begun = true;
    while (!t.stop_requested()) co_await rubato::yield();
    stopped = true;
  });
  graph.add([&]() -> rubato::task<> {
    while (!begun) co_await rubato::yield();
    throw failure(7);
  });
  EXPECT_THROW(graph.run(pool), failure);
  EXPECT_TRUE(stopped);
}

TEST_P(graph_failures, a_stop_of_the_scope_cancels_the_run) {
  rubato::task_graph graph;
  std::atomic<int> ran{0};
  std::atomic<rubato::scope*> around{nullptr};
  node const first = graph.add([&] { around.load()->request_stop(); });
  graph.add([&] { ++ran; }).after(first);
  bool cancelled = false;
  rubato::with_scope(pool, [&](rubato::scope& s) {
    around = &s;
    try {
      graph.run(pool);
    } catch (rubato::cancelled const&) {
      cancelled = true;
    }
  });
  EXPECT_TRUE(cancelled);
  EXPECT_EQ(ran, 0);
}

TEST_P(graph_failures, a_stopped_coroutine_cancels_its_run) {
  rubato::task_graph graph;
  std::atomic<int> ran{0};
  node const first = graph.add([&]() -> rubato::task<> { co_await rubato::sleep_for(1h); });
  graph.add([&] { ++ran; }).after(first);
  auto const job = [](rubato::task_graph& g) -> rubato::task<bool> {
    co_return co_await rubato::with_deadline(g.async_run(), std::chrono::steady_clock::now() + 2ms);
  };
  EXPECT_FALSE(rubato::spawn(pool, job(graph)).get());
  EXPECT_EQ(ran, 0);
}

// The callback runs on the thread that has ended the inner run.
TEST_P(graph_failures, regression_a_callback_had_a_stale_token) {
  rubato::task_graph inner, outer;
  std::atomic<bool> listens{false}, same{false};
  std::stop_token of_outer;
  inner.add([&]() -> rubato::task<> {
    while (!listens) co_await rubato::yield();
    throw failure(3);
  });
  node const first = outer.add([&](std::stop_token t) { of_outer = std::move(t); });
  outer
      .add([&](std::stop_token t) -> rubato::task<> {
        std::stop_callback const says(t, [&] { same = rubato::this_task_stop_token() == of_outer; });
        listens = true;
        co_await rubato::sleep_for(1h);
      })
      .after(first);
  outer.add(inner).after(first);
  EXPECT_THROW(outer.run(pool), failure);
  EXPECT_TRUE(same);
}

TEST_P(graph_failures, regression_an_exception_outlived_its_run) {
  rubato::task_graph graph;
  std::weak_ptr<int> carried;
  graph.add([&]() -> rubato::task<> {
    auto thrown = std::make_shared<int>(1);
    carried = thrown;
    throw thrown;
    co_return;
  });
  EXPECT_THROW(graph.run(pool), std::shared_ptr<int>);
  EXPECT_TRUE(carried.expired());
}

TEST(graph_shutdown, discard_while_graphs_run) {
  for (unsigned round = 0; round != scaled(30); ++round) {
    layered l;
    rubato::pool pool(2);
    std::atomic<bool> goes{false}, over{false};
    std::thread runner([&] {
      try {
        while (!over) { // a closed pool runs it in the caller alone
          l.graph.run(pool);
          goes = true;
        }
      } catch (rubato::cancelled const&) {
      } catch (std::exception const&) { // a coroutine that the end of the pool has destroyed
      }
    });
    EXPECT_TRUE(eventually([&] { return goes.load(); }));
    pool.request_shutdown(rubato::discard);
    over = true;
    runner.join();
    pool.shutdown(rubato::discard);
  }
}

TEST(graph_shutdown, drain_lets_a_run_end) {
  rubato::pool pool(2);
  rubato::task_graph graph;
  std::atomic<int> ran{0};
  node const first = graph.add([&] { pool.request_shutdown(rubato::drain); });
  graph
      .add([&]() -> rubato::task<> {
        co_await rubato::yield();
        ++ran;
      })
      .after(first);
  pool.enqueue([&] { graph.run(); });
  pool.shutdown();
  EXPECT_EQ(ran, 1);
}

TEST_P(graph_failures, a_run_in_a_closed_pool_ends) {
  pool.shutdown();
  rubato::task_graph graph;
  std::atomic<int> ran{0};
  node const first = graph.add([&] { ++ran; });
  graph.add([&] { ++ran; }).after(first);
  graph.run(pool);
  EXPECT_EQ(ran, 2);
}

/// A node waits for a task that waits for the node's own: a deadlock.
TEST(graph_stalls, a_report_names_the_node) {
  std::promise<std::string> said;
  std::atomic<bool> told{false};
  rubato::pool pool(rubato::pool_options().workers(2).on_stall([&](rubato::stall_report const& r) {
    for (auto const& w : r.waiters)
      if (!w.node.empty() && !told.exchange(true)) said.set_value(w.node);
    pool.request_shutdown(rubato::discard);
  }));
  auto named = said.get_future();
  rubato::shared_future<void> first, second;
  std::atomic<bool> both{false};
  first = pool.spawn([&] {
                while (!both) std::this_thread::yield();
                rubato::task_graph graph;
                graph.add("physics", [&] { second.get(); });
                graph.run();
              })
              .share();
  second = pool.spawn([&] {
                 while (!both) std::this_thread::yield();
                 first.get();
               })
               .share();
  both = true;
  ASSERT_EQ(named.wait_for(bound), std::future_status::ready);
  EXPECT_EQ(named.get(), "physics");
  pool.shutdown(rubato::discard);
}

} // namespace
