// A thread's work on a run of a graph: from the first node that it gets until it has none left.
// docs/design/graphs.md
#pragma once

#include "rubato/detail/graph/graph_core.hpp"
#include "rubato/detail/graph/graph_run.hpp"
#include "rubato/detail/work/thread_context.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>

namespace rubato::detail {

/// Nodes that become ready here are latent jobs of the thread, but for one, which runs next. The session
/// counts the nodes that end, and tells the run when it has none left, or goes on with a nested run.
class graph_session {
  thread_context& me_;
  bool const runs_; // false: the pool has dropped the entry, and no node begins
  graph_run* run_;  // the run whose nodes it counts; null: none is counted
  stop_scope* token_;
  std::uint64_t ended_ = 0;        // nodes of run_ that it has not told of
  graph_node* next_ = nullptr;     // runs next
  graph_node* skipped_ = nullptr;  // a list
  graph_node* overflow_ = nullptr; // ready, and the thread's chain was full
  std::size_t latent_ = 0;         // pushed to the chain and not popped
  bool has_pushed_ = false;
  run_end end_; // of the outermost run, if it has ended here

  void ready(graph_node& n) noexcept;
  void push(graph_node& n) noexcept;
  void tell_others(graph_run const& r) noexcept;
  [[nodiscard]] graph_node* take() noexcept;
  void step(graph_node& n) noexcept;
  void resolve(graph_node& n, bool ran) noexcept;
  void settle(graph_node& n, bool ran) noexcept;
  void count(graph_run& r) noexcept;
  void flush() noexcept;
  void work() noexcept;

  graph_session(thread_context& me, bool runs, graph_run& r) noexcept;

public:
  graph_session(graph_session const&) = delete;
  graph_session& operator=(graph_session const&) = delete;

  /// By the thread that begins the run. `runner`: null if the pool has dropped the entry.
  static void begin(graph_run& r, thread_context* runner) noexcept;
  /// By a thread that was given ready nodes of one run.
  static void run_nodes(graph_node& oldest, thread_context& runner) noexcept;
  /// By a thread that has got the end of a node that went on elsewhere.
  static void go_on_after(graph_node& n, std::exception_ptr error, thread_context* runner) noexcept;

  // For nodes.
  [[nodiscard]] thread_context& thread() const noexcept { return me_; }
  [[nodiscard]] graph_run& run() const noexcept { return *run_; }
  /// What is called here from now on has the token of that run.
  void in_force(graph_run& r) noexcept;
  /// Makes all roots of the run ready.
  void add_roots(graph_run& r) noexcept;
  /// A node has ended that went on elsewhere: with an exception, or null.
  void node_has_ended(graph_node& n, std::exception_ptr error) noexcept;
};

/// A node that runs another graph, as a part of its own run.
class nested_node final : public graph_node {
  graph_core& inner_;
  std::optional<graph_run> inner_run_;

  [[nodiscard]] bool begin(graph_session& by) override;

public:
  nested_node(graph_core& g, std::string name, graph_core& inner)
      : graph_node(g, std::move(name), false)
      , inner_(inner) {}
  [[nodiscard]] graph_core* nested() const noexcept override { return &inner_; }
  [[nodiscard]] bool may_go_on() const noexcept override { return true; } // a guess
  /// The inner run has ended: destroys it, and ends the node.
  void inner_has_ended(graph_session& by) noexcept;
};

} // namespace rubato::detail
