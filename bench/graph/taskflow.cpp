// The graph of bench/graph.py by Taskflow. RUBATO_BENCH_TASKFLOW names its checkout.
#include "shapes.hpp"

#include <taskflow/taskflow.hpp>

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace {

void run_graph(unsigned workers, bench::shape const& g, bench::pace p) {
  tf::Executor executor(workers);
  tf::Taskflow graph;
  std::vector<tf::Task> nodes;
  for (std::size_t i = 0; i != g.size(); ++i) {
    nodes.push_back(graph.emplace([us = g.us[i]] { bench::work_for(us); }));
    for (std::size_t const d : g.before[i]) nodes[d].precede(nodes[i]);
  }
  bench::measure("taskflow", p, [&] { executor.run(graph).wait(); });
}

} // namespace

int main(int argc, char** argv) {
  return bench::drive(argc, argv, run_graph, [](unsigned, std::size_t, double) {}); // prints no row for items
}
