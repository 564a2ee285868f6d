// The nodes of a graph: what they call, which edges leave them. docs/design/graphs.md
#pragma once

#include "rubato/detail/base/api.hpp"
#include "rubato/detail/graph/edge_count.hpp"
#include "rubato/detail/graph/started_job.hpp"
#include "rubato/detail/sync/latent_chain.hpp"
#include "rubato/detail/work/callable.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rubato::detail {

class graph_core;
class graph_node;
class graph_run;
class graph_session;

struct graph_edge {
  graph_node* to;
  edge_kind kind;
  std::int64_t result; ///< of an edge of on(): the result that makes it live
};

/// A type whose values choose edges.
template<class T>
concept chooses = std::integral<std::remove_cvref_t<T>> || std::is_enum_v<std::remove_cvref_t<T>>;

/// A result as edges have it.
template<chooses T>
[[nodiscard]] constexpr std::int64_t key_of(T const& result) noexcept {
  return static_cast<std::int64_t>(result);
}

/// A node of a graph. As long as it is ready and has not begun it is a latent job of a thread that works on
/// the run, in a batch with the graph's other ready nodes.
class graph_node : public batched_job {
  friend class graph_core;
  friend class graph_session;

  edge_count in_;
  graph_edge const* first_edge_ = nullptr; // of those that leave it, when the graph was last checked
  graph_edge const* last_edge_ = nullptr;
  graph_core* graph_;
  graph_node* next_ = nullptr; // in a list of a session
  std::int64_t choice_ = 0;
  bool has_chosen_ = false; // in this run, up to its end

  // Read while the graph is built.
  bool const may_choose_;
  std::size_t index_ = 0;
  std::string name_;
  std::vector<graph_edge> edges_;   // that leave it
  std::vector<graph_node*> before_; // where those begin that lead to it

  RUBATO_API static void run_elsewhere(latent_job& base, thread_context& runner);
  void add_edge(graph_edge const& e);

protected:
  void choose(std::int64_t key) noexcept {
    choice_ = key;
    has_chosen_ = true;
  }

public:
  graph_node(graph_core& g, std::string name, bool may_choose)
      : batched_job(&run_elsewhere, &g)
      , graph_(&g)
      , may_choose_(may_choose)
      , name_(std::move(name)) {}
  graph_node(graph_node const&) = delete;
  graph_node& operator=(graph_node const&) = delete;
  virtual ~graph_node() = default;

  /// Calls what it was made of. False: it goes on elsewhere, and must not be touched.
  [[nodiscard]] virtual bool begin(graph_session& by) = 0;
  /// May it go on elsewhere, and wait there for something that the pool does not end alone?
  [[nodiscard]] virtual bool may_go_on() const noexcept { return false; }
  /// The graph that it runs; null: none.
  [[nodiscard]] virtual graph_core* nested() const noexcept { return nullptr; }

  [[nodiscard]] graph_core& graph() const noexcept { return *graph_; }
  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] std::vector<graph_edge> const& edges() const noexcept { return edges_; }
  /// Its name, else its number.
  [[nodiscard]] std::string label() const;

  // While the graph does not run; these throw std::invalid_argument.
  RUBATO_API void add_after(graph_node& before);
  RUBATO_API void add_on(std::int64_t result, graph_node& next);

  /// For a steal filter: is it a ready node of this run, or of one within it?
  [[nodiscard]] static bool is_part_of(latent_job const& j, void const* run) noexcept;
};

/// The thread that works on a session.
[[nodiscard]] RUBATO_API thread_context& thread_of(graph_session& s) noexcept;

template<class F>
class closure_node final : public graph_node {
  F f_;

  [[nodiscard]] bool begin(graph_session& by) override {
    if constexpr (chooses<call_result_t<F&>>)
      this->choose(key_of(call(thread_of(by), f_)));
    else
      static_cast<void>(call(thread_of(by), f_));
    return true;
  }

public:
  template<class G>
  closure_node(graph_core& g, std::string name, G&& f)
      : graph_node(g, std::move(name), chooses<call_result_t<F&>>)
      , f_(std::forward<G>(f)) {}
};

/// A node that may go on after its call.
class RUBATO_API resumed_node : public graph_node, public job_end {
  static void go_on(task& base, thread_context* runner) noexcept;

protected:
  resumed_node(graph_core& g, std::string name, bool may_choose)
      : graph_node(g, std::move(name), may_choose)
      , job_end(&go_on) {
    if (!this->graph_node::name().empty()) this->job_end::name = this->graph_node::name().c_str();
  }

  [[nodiscard]] bool may_go_on() const noexcept final { return true; }
  [[nodiscard]] static pool_core& core_of(graph_session& by) noexcept;
  [[nodiscard]] static stop_scope& stop_of(graph_session& by) noexcept;
  /// It has ended before its call returned: throws its exception.
  void finish() {
    if (std::exception_ptr e = std::exchange(this->error, nullptr)) std::rethrow_exception(std::move(e));
  }
};

/// Its callable returns a task or a future.
template<class F>
class coroutine_node final : public resumed_node {
  F f_;
  using result = brought_t<F&>;
  struct take_choice {
    coroutine_node* node;
    void operator()(auto&& slot) const {
      if constexpr (chooses<result>) node->choose(key_of(slot.look()));
    }
  };

  [[nodiscard]] bool begin(graph_session& by) override {
    using job = started_job<borrowed_call<F>, take_choice>;
    if (!job::start(core_of(by), *this, stop_of(by), thread_of(by), borrowed_call<F>{&f_, {}},
                    take_choice{this}))
      return false;
    finish();
    return true;
  }

public:
  template<class G>
  coroutine_node(graph_core& g, std::string name, G&& f)
      : resumed_node(g, std::move(name), chooses<result>)
      , f_(std::forward<G>(f)) {}
};

/// A node of this callable.
template<class F>
using node_for =
    std::conditional_t<flattened<call_result_t<F&>>::is_task || flattened<call_result_t<F&>>::is_future,
                       coroutine_node<F>, closure_node<F>>;

/// True if a graph's add() accepts it; otherwise an assertion fails with a message.
template<class F>
[[nodiscard]] consteval bool can_be_node() {
  static_assert(!is_task<std::remove_cvref_t<F>>::value,
                "rubato: task_graph::add(t): a task runs once, a node in every run: add a callable that "
                "returns the task");
  static_assert(can_be_kept<F>, "rubato: task_graph::add(f): f is copied unless it is passed as an rvalue: "
                                "std::move what cannot be copied");
  if constexpr (can_be_kept<F> && !is_task<std::remove_cvref_t<F>>::value) {
    constexpr bool called = fits<std::decay_t<F>&>;
    static_assert(called, "rubato: task_graph::add(f): f must be callable as f(), any number of times");
    if constexpr (called) return can_be_returned<call_result_t<std::decay_t<F>&>>();
  }
  return false;
}

} // namespace rubato::detail
