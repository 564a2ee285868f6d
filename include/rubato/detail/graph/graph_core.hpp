// A graph: its nodes, and what was found out about them before the first run. docs/design/graphs.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/graph/graph_node.hpp"

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace rubato::detail {

/// What handles of nodes refer to. It stays where it is when the task_graph is moved.
class graph_core {
  friend class graph_run;
  friend class graph_session;
  friend class graph_node;

  std::vector<std::unique_ptr<graph_node>> nodes_;
  std::vector<graph_edge> edges_;  // of all nodes, as they were when the graph was last checked
  std::vector<graph_node*> roots_; // without edges that lead to them
  bool checked_ = true;            // nothing has changed since
  bool any_may_go_on_ = false;     // a node may: see graph_node::may_go_on()
  announced<bool> running_;        // a run's end pairs with the next one's begin
  graph_run* run_ = nullptr;       // the run under way
  std::int64_t node_ticks_;        // time per node in the last run

  void check();
  [[noreturn]] void throw_cycle(std::vector<std::uint64_t> const& left) const;
  void write_nodes(std::ostream& out, std::string const& prefix, std::string const& indent,
                   std::vector<graph_core const*>& around) const;

public:
  RUBATO_API graph_core();
  RUBATO_API ~graph_core();
  graph_core(graph_core const&) = delete;
  graph_core& operator=(graph_core const&) = delete;

  /// Throws std::logic_error if a run is under way.
  void expect_idle(char const* what) const;
  [[nodiscard]] bool is_running() const noexcept { return running_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  /// The run under way; null: none.
  [[nodiscard]] graph_run* run() const noexcept { return run_; }
  [[nodiscard]] bool any_may_go_on() const noexcept { return any_may_go_on_; }
  void changed() noexcept { checked_ = false; }
  RUBATO_API graph_node& add(std::unique_ptr<graph_node> n);
  RUBATO_API graph_node& add_graph(std::string name, graph_core& nested);
  RUBATO_API void dot(std::ostream& out) const;

  template<class F>
  graph_node& add_callable(std::string name, F&& f) {
    return add(std::make_unique<node_for<std::decay_t<F>>>(*this, std::move(name), std::forward<F>(f)));
  }
};

/// Runs the graph on the calling thread and idle workers. Null: on the current pool.
RUBATO_API void run_graph(graph_core& g, pool* p);

} // namespace rubato::detail
