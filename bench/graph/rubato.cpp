// Systems of a game, each of which waits for up to three earlier ones, frame by frame, in the ways in which a
// program may write that; and a pipeline that keeps the order of its items. bench/graph.py
#include "shapes.hpp"

#include <rubato/rubato.hpp>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

using bench::shape;

std::atomic<std::size_t> ran{0};
void system_body(double us) {
  ran.fetch_add(1, std::memory_order_relaxed);
  bench::work_for(us);
}

/// One frame, by futures.
void then_frame(rubato::pool& pool, shape const& g) {
  std::vector<rubato::shared_future<void>> all;
  all.reserve(g.size());
  for (std::size_t i = 0; i != g.size(); ++i) {
    std::vector<std::size_t> const& before = g.before[i];
    double const us = g.us[i];
    if (before.empty()) {
      all.push_back(pool.spawn(&system_body, us));
      continue;
    }
    std::vector<rubato::shared_future<void>> sources;
    sources.reserve(before.size());
    for (std::size_t const d : before) sources.push_back(all[d]);
    all.push_back(rubato::when_all(std::move(sources)).then([us](auto&&) { system_body(us); }));
  }
  rubato::when_all(std::move(all)).get();
}

/// The same, by a counter per system: docs/recipes/work.md.
class counters {
  rubato::pool& pool_;
  shape const& graph_;
  std::vector<std::atomic<std::size_t>> left_;
  std::atomic<std::size_t> running_{0};
  rubato::promise<void> done_;

  void run(std::size_t i) {
    system_body(graph_.us[i]);
    for (std::size_t const next : graph_.after[i])
      if (left_[next].fetch_sub(1) == 1) pool_.enqueue([this, next] { run(next); });
    if (running_.fetch_sub(1) == 1) done_.set_value();
  }

public:
  counters(rubato::pool& p, shape const& g)
      : pool_(p)
      , graph_(g)
      , left_(g.size()) {}
  void frame() {
    done_ = {};
    rubato::future<void> done = done_.get_future();
    running_ = graph_.size();
    for (std::size_t i = 0; i != graph_.size(); ++i) left_[i] = graph_.before[i].size();
    for (std::size_t i = 0; i != graph_.size(); ++i)
      if (graph_.before[i].empty()) pool_.enqueue([this, i] { run(i); });
    done.get();
  }
};

void run_graph(unsigned workers, shape const& g, bench::pace p) {
  rubato::pool pool(workers);
  rubato::task_graph graph;
  std::vector<rubato::task_graph::node> nodes;
  for (std::size_t i = 0; i != g.size(); ++i) {
    nodes.push_back(graph.add([us = g.us[i]] { system_body(us); }));
    for (std::size_t const d : g.before[i]) nodes[i].after(nodes[d]);
  }
  counters by_hand(pool, g);
  pool.run([&] {
    bench::measure("then", p, [&] { then_frame(pool, g); });
    bench::measure("counters", p, [&] { by_hand.frame(); });
    bench::measure("task_graph", p, [&] { graph.run(); });
  });
  if (ran != 3 * g.size() * static_cast<std::size_t>(p.frames + 1))
    throw std::runtime_error("a system did not run");
}

void run_items(unsigned workers, std::size_t items, double us) {
  unsigned long const steps = bench::steps_for(us);
  rubato::pool pool(workers);
  unsigned long sum = 0;
  pool.run([&] {
    bench::measure_items("serial", items, [&](std::size_t n) {
      for (std::size_t i = 0; i != n; ++i) sum += bench::take_steps(i, steps);
    });
    bench::measure_items("pipeline", items, [&](std::size_t n) {
      std::size_t next = 0;
      rubato::pipeline(
          256,
          rubato::stage(rubato::serial_in_order,
                        [&] { return next != n ? std::optional(next++) : std::nullopt; }),
          rubato::stage(rubato::parallel, [=](std::size_t i) { return bench::take_steps(i, steps); }),
          rubato::stage(rubato::serial_in_order, [&](unsigned long x) { sum += x; }));
    });
  });
  if (sum == 1) std::puts("");
}

} // namespace

int main(int argc, char** argv) { return bench::drive(argc, argv, run_graph, run_items); }
