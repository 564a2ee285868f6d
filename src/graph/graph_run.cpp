#include "rubato/detail/graph/graph_run.hpp"

#include "graph/await_run.hpp"
#include "graph/graph_session.hpp"
#include "rubato/detail/work/callable.hpp"
#include "sched/run/search.hpp"
#include "work/pool_thread.hpp"

#include <exception>
#include <stdexcept>
#include <utility>

namespace rubato::detail {

graph_run::graph_run(graph_core& g, pool_core& core, stop_scope* around, run_end end, nested_node* within)
    : run_root(core, around)
    , graph_(g)
    , end_(end)
    , within_(within)
    , begun_at_(tick_count()) {
  if (g.running_.exchange(true))
    throw std::logic_error("rubato: a task_graph is run that runs already: make a graph for each run that "
                           "is under way at the same time");
  try {
    if (!g.checked_) g.check();
  } catch (...) {
    g.running_.set(false);
    throw;
  }
  left_.add(g.nodes_.size());
  g.run_ = this;
}

graph_run::~graph_run() {
  if (!graph_.nodes_.empty())
    graph_.node_ticks_ = (tick_count() - begun_at_) / static_cast<std::int64_t>(graph_.nodes_.size());
  graph_.run_ = nullptr;
  graph_.running_.set(false);
}

graph_run* graph_run::outer() const noexcept { return within_ != nullptr ? within_->graph().run() : nullptr; }

void graph_node::run_elsewhere(latent_job& base, thread_context& runner) {
  graph_session::run_nodes(static_cast<graph_node&>(base), runner);
}

bool graph_node::is_part_of(latent_job const& j, void const* run) noexcept {
  if (j.exec.get() != &run_elsewhere) return false;
  graph_run const* r = static_cast<graph_node const&>(j).graph_->run();
  while (r != nullptr && r != run) r = r->outer();
  return r != nullptr;
}

void resumed_node::go_on(task& base, thread_context* runner) noexcept {
  auto& self = static_cast<resumed_node&>(base);
  graph_session::go_on_after(self, std::exchange(self.error, nullptr), runner);
}

pool_core& resumed_node::core_of(graph_session& by) noexcept { return by.run().core(); }
stop_scope& resumed_node::stop_of(graph_session& by) noexcept { return by.run().stop(); }

void run_graph(graph_core& g, pool* p) {
  on_pool(p, [&](thread_context& me) {
    graph_run run(g, *me.core, static_cast<stop_scope*>(me.chain.token()), {.caller = &me});
    if (g.size() == 0) return;
    graph_session::begin(run, &me);
    pool_thread& t = thread_of(me);
    // Only nodes of this very run: nothing else may run on top of the caller.
    await_run(
        me, "graph", g.any_may_go_on(), [&run] { return run.has_ended(); },
        [&] { return find_latent(*t.core, t, {.picks = &graph_node::is_part_of, .of = &run}); });
    if (std::exception_ptr error = run.take_error()) std::rethrow_exception(std::move(error));
  });
}

bool graph_awaiter::begin(pool_core& core, stop_scope& around) {
  run_.emplace(graph_, core, &around, run_end{.awaiter = this});
  if (graph_.size() != 0) return true;
  run_.reset();
  return false;
}

void graph_awaiter::work(thread_context* runner) noexcept { graph_session::begin(*run_, runner); }

void graph_awaiter::finish() {
  if (!run_) return;
  std::exception_ptr error = run_->take_error();
  run_.reset();
  if (error != nullptr) std::rethrow_exception(std::move(error));
}

} // namespace rubato::detail
