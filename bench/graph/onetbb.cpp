// The graph and the pipeline of bench/graph.py by oneTBB: flow::graph, parallel_pipeline.
#include "shapes.hpp"

#include <tbb/flow_graph.h>
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace {

using node = tbb::flow::continue_node<tbb::flow::continue_msg>;

void run_graph(unsigned workers, bench::shape const& g, bench::pace p) {
  tbb::global_control const limit(tbb::global_control::max_allowed_parallelism, workers);
  tbb::flow::graph graph;
  tbb::flow::broadcast_node<tbb::flow::continue_msg> start(graph);
  std::vector<std::unique_ptr<node>> nodes;
  for (std::size_t i = 0; i != g.size(); ++i) {
    nodes.push_back(
        std::make_unique<node>(graph, [us = g.us[i]](tbb::flow::continue_msg) { bench::work_for(us); }));
    for (std::size_t const d : g.before[i]) tbb::flow::make_edge(*nodes[d], *nodes[i]);
    if (g.before[i].empty()) tbb::flow::make_edge(start, *nodes[i]);
  }
  bench::measure("onetbb", p, [&] {
    start.try_put(tbb::flow::continue_msg());
    graph.wait_for_all();
  });
}

void run_items(unsigned workers, std::size_t items, double us) {
  tbb::global_control const limit(tbb::global_control::max_allowed_parallelism, workers);
  unsigned long const steps = bench::steps_for(us);
  unsigned long sum = 0;
  bench::measure_items("onetbb", items, [&](std::size_t n) {
    std::size_t next = 0;
    tbb::parallel_pipeline(
        256, tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order,
                                                 [&](tbb::flow_control& fc) -> std::size_t {
                                                   if (next == n) fc.stop();
                                                   return next != n ? next++ : 0;
                                                 }) &
                 tbb::make_filter<std::size_t, unsigned long>(
                     tbb::filter_mode::parallel, [=](std::size_t i) { return bench::take_steps(i, steps); }) &
                 tbb::make_filter<unsigned long, void>(tbb::filter_mode::serial_in_order,
                                                       [&](unsigned long x) { sum += x; }));
  });
  if (sum == 1) std::puts("");
}

} // namespace

int main(int argc, char** argv) { return bench::drive(argc, argv, run_graph, run_items); }
