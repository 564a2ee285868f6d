// A run of a graph, and the awaiter of a run. docs/design/graphs.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/base/atomics.hpp"
#include "rubato/detail/coro/coroutine_task.hpp"
#include "rubato/detail/graph/graph_core.hpp"
#include "rubato/detail/graph/run_awaiter.hpp"
#include "rubato/detail/graph/run_root.hpp"

#include <cstdint>
#include <optional>

namespace rubato::detail {

class nested_node;

/// Made when a run begins, destroyed when it has ended.
class graph_run final : public run_root {
  friend class graph_session;
  graph_core& graph_;
  countdown<std::uint64_t> left_; // nodes that have not ended
  run_end const end_;
  nested_node* const within_; // the node that it is the work of; null: none
  std::int64_t const begun_at_;

public:
  /// Throws std::logic_error if the graph runs, std::invalid_argument if it has a cycle.
  RUBATO_API graph_run(graph_core& g, pool_core& core, stop_scope* around, run_end end,
                       nested_node* within = nullptr);
  RUBATO_API ~graph_run();

  /// The run that this is a part of; null: none.
  [[nodiscard]] graph_run* outer() const noexcept;
  [[nodiscard]] bool has_ended() const noexcept { return left_.is_over(); }
};

/// co_await graph.async_run().
class [[nodiscard(
    "async_run() runs the graph only when it is awaited: co_await it")]] RUBATO_API graph_awaiter final
    : public run_awaiter {
  graph_core& graph_;
  std::optional<graph_run> run_;

  [[nodiscard]] bool begin(pool_core& core, stop_scope& around) override;
  void work(thread_context* runner) noexcept override;
  void finish() override;

public:
  graph_awaiter(graph_core& g, pool* p) noexcept
      : run_awaiter(p)
      , graph_(g) {}
  /// Only before it is awaited.
  graph_awaiter(graph_awaiter&& other) noexcept
      : run_awaiter(other)
      , graph_(other.graph_) {}
  ~graph_awaiter() = default;
};

} // namespace rubato::detail
