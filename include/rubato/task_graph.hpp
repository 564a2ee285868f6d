// A graph of tasks: which run after which. Built once, run often.
//
//   #include <rubato/task_graph.hpp>
//
//   #include <cstdio>
//
//   int main() {
//     int position = 0, speed = 2;
//     rubato::task_graph frame;
//     auto move = frame.add("move", [&] { position += speed; });
//     auto draw = frame.add("draw", [&] { std::printf("at %d\n", position); });
//     draw.after(move);
//     frame.run(); // -> at 2
//     frame.run(); // -> at 4
//   }
#pragma once

#include "rubato/detail/base/config.hpp"

#include "rubato/detail/graph/graph_core.hpp"
#include "rubato/detail/graph/graph_run.hpp"
#include "rubato/thread_pool.hpp"

#include <concepts>
#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>

namespace rubato {

/// Tasks, its *nodes*, and edges between them. In each run a node runs at most once, after the nodes before
/// it have ended.
///
/// A run resolves every edge once, live or dead. Of a node that has run, the edges of after() are live, and
/// of its edges of on() those with its result; all edges of a skipped node are dead. When all edges that lead
/// to a node are resolved, it runs if one of those of on() is live, or there is none, and one of those of
/// after() is live, or there is none. Else it is skipped. So the node that joins the branches of a choice
/// runs once, whichever branch was taken.
///
/// Nodes carry no data: they share variables of the program. The end of a node happens before the nodes after
/// it begin, and every end before run() returns. For messages there are pipeline() and channel.
///
/// A graph has one run at a time, which is checked: run() throws std::logic_error if the graph runs. Two
/// threads may not build it at the same time. Movable, but not while it runs; handles of nodes stay valid.
///
/// A run allocates nothing but what nodes that are coroutines need. An edge costs a few nanoseconds: the
/// thread that ends a node runs one node after it at once, the others lie ready in this thread until idle
/// workers steal them. Source: counters of predecessors, as in dataflow machines; stealing the oldest ready
/// node (R. Blumofe and C. Leiserson, Journal of the ACM 46(5), 1999). Conditional edges: dead paths are
/// eliminated as in BPEL (F. Leymann and D. Roller, Production Workflow, 2000).
class task_graph {
  std::unique_ptr<detail::graph_core> core_ = std::make_unique<detail::graph_core>();

public:
  /// Refers to a node; a value type. Valid as long as the graph, also when that was moved.
  class node {
    friend class task_graph;
    detail::graph_node* node_;
    explicit node(detail::graph_node& n) noexcept
        : node_(&n) {}

  public:
    /// Points backwards: this node runs after all of those. Duplicates count once. Throws
    /// std::invalid_argument for this node itself, and for a node of another graph; std::logic_error while
    /// the graph runs. Returns the node.
    template<std::same_as<node>... Nodes>
    node& after(node first, Nodes... others) {
      node_->add_after(*first.node_);
      (node_->add_after(*others.node_), ...);
      return *this;
    }
    /// Points forwards: those run after this node if its result is `result`, an integer, an enumerator or a
    /// bool. Without a node for its result, or if it throws, none of its on() edges is live. The result of a
    /// node without on() edges is dropped. Duplicates count once. Throws as after(), and
    /// std::invalid_argument if the callable has no such result.
    template<detail::chooses Result, std::same_as<node>... Nodes>
    node& on(Result result, node first, Nodes... others) {
      node_->add_on(detail::key_of(result), *first.node_);
      (node_->add_on(detail::key_of(result), *others.node_), ...);
      return *this;
    }
    /// Empty: it has none.
    [[nodiscard]] std::string const& name() const noexcept { return node_->name(); }
  };

  task_graph() = default;
  /// Handles of nodes stay valid. A graph that runs is not moved, which an assertion reports.
  task_graph(task_graph&& other) noexcept
      : core_(std::move(other.core_)) {
    expect_no_run();
  }
  /// The same.
  task_graph& operator=(task_graph&& other) noexcept {
    other.expect_no_run();
    core_ = std::move(other.core_);
    return *this;
  }
  ~task_graph() = default;

  /// Adds a node that calls f(), or f(std::stop_token), in each run. f is decay-copied. A task or future that
  /// f returns is awaited, and no thread waits for it. The token shows a stop of the run. Throws
  /// std::logic_error while the graph runs.
  template<class F>
  node add(F&& f) {
    return add(std::string(), std::forward<F>(f));
  }
  /// The same with a name, which dot(), the debugger, and reports of a stall show.
  template<class F>
  node add(std::string name, F&& f) {
    if constexpr (detail::can_be_node<F>())
      return node(core().add_callable(std::move(name), std::forward<F>(f)));
    else
      return detail::refused();
  }
  /// Adds a node that runs another graph, as a part of this run. That graph must outlive this one, or at
  /// least its runs. If it runs already, the node fails with std::logic_error. Throws std::invalid_argument
  /// if it is this graph.
  node add(task_graph& inner) { return add(std::string(), inner); }
  node add(std::string name, task_graph& inner) {
    return node(core().add_graph(std::move(name), inner.core()));
  }

  /// Runs the graph on the calling thread and all idle workers of the current pool, and returns when all
  /// nodes have ended. The calling thread runs nodes of this graph alone; in a pool without workers it runs
  /// all of them. A wait in a node runs no other node.
  ///
  /// After the first exception of a node no further node begins, and the others are asked to stop; run()
  /// throws that exception when they have ended. A stop of the task around, and a discard of the pool, do
  /// likewise, and run() throws `cancelled`. Afterwards the graph can run again.
  ///
  /// Throws std::invalid_argument, which names the nodes, if there is a cycle: a loop is a node that runs
  /// another graph. That is looked for once after each change of the graph. Throws std::logic_error if the
  /// graph runs already.
  void run() { detail::run_graph(core(), nullptr); }
  void run(pool& p) { detail::run_graph(core(), &p); }
  /// co_await async_run(): as run(), but holds no thread. It begins when it is awaited, once. A stop of the
  /// coroutine stops the run. Without a pool it runs on the pool of the coroutine.
  [[nodiscard]] detail::graph_awaiter async_run() { return {core(), nullptr}; }
  [[nodiscard]] detail::graph_awaiter async_run(pool& p) { return {core(), &p}; }

  /// The number of nodes.
  [[nodiscard]] std::size_t size() const noexcept { return core_ != nullptr ? core_->size() : 0; }
  /// Writes the graph in the language of Graphviz: edges of on() dashed, with the result; a graph within this
  /// one as a box.
  void dot(std::ostream& out) { core().dot(out); }

private:
  void expect_no_run() const noexcept {
    RUBATO_ASSERT(core_ == nullptr || !core_->is_running(), "a task_graph is moved while it runs", size());
  }
  /// A graph that was moved from is empty.
  detail::graph_core& core() {
    if (core_ == nullptr) core_ = std::make_unique<detail::graph_core>();
    return *core_;
  }
};

} // namespace rubato
