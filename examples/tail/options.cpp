#include "options.hpp"

#include <CLI/CLI.hpp>
#include <rubato/pool.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>

namespace tail {
namespace {

std::chrono::nanoseconds from_milliseconds(double ms) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double, std::milli>(ms));
}

} // namespace

std::optional<options> parse_options(int argc, const char* const* argv, int& status) {
  options asked;
  asked.workers = rubato::usable_cpus();
  std::vector<std::string> names;
  double compute = 1.3, shortest = 5, longest = 20, every = 0;
  bool blind = false, sweep = false, unpinned = false;

  CLI::App app(
      "Measures how much of a latency's tail copies of the calls take away. A call computes, and stalls now\n"
      "and then in the middle. All strategies make the same calls, a few hundred in turn.\n\n"
      "Strategies: single; race:N and hedge:N (copies that begin at once); after:US (the second copy\n"
      "begins after so many microseconds); adaptive:QUANTILE[:BUDGET[:BURST]] (when the call is slower\n"
      "than this share of its predecessors).",
      "tail");
  app.add_option("-s,--strategy", names, "may be repeated; unset: a selection of all kinds")
      ->type_name("NAME");
  app.add_flag("--sweep", sweep, "many delays, quantiles and budgets, instead of --strategy");
  app.add_option("-n,--calls", asked.when.calls, "by each strategy")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  app.add_option("--every", every, "ms from one call to the next; 0: one after the other")
      ->check(CLI::Range(0.0, 1e5))
      ->capture_default_str();
  app.add_option("--compute", compute, "CPU time of a call, in ms")
      ->check(CLI::Range(0.0, 1e4))
      ->capture_default_str();
  app.add_option("--chance", asked.load.stall_chance, "of a stall")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--shortest", shortest, "stall, in ms")->check(CLI::Range(0.0, 1e5))->capture_default_str();
  app.add_option("--longest", longest, "stall, in ms")->check(CLI::Range(0.0, 1e5))->capture_default_str();
  app.add_flag("--blind", blind, "stalled copies do not look at their token");
  app.add_flag("--unpinned", unpinned, "copies may run on any core: for a machine with other work");
  app.add_option("--seed", asked.load.seed, "of the stalls")->capture_default_str();
  app.add_option("-w,--workers", asked.workers, "threads; unset: the usable cores")
      ->check(CLI::Range(0, 1024));
  app.add_option("--replica", asked.replicas,
                 "ask this server for a save instead; repeat it for each replica")
      ->type_name("ADDRESS:PORT");
  app.add_option("--user", asked.user, "whose save")->capture_default_str();
  app.add_option("--csv", asked.csv, "the table")->type_name("FILE");
  app.add_option("--svg", asked.svg, "the distributions")->type_name("FILE");
  app.add_option("--work-svg", asked.work_svg, "extra copies against p99.9")->type_name("FILE");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? measured : usage_error;
    return std::nullopt;
  }
  asked.load.compute = from_milliseconds(compute);
  asked.load.shortest_stall = from_milliseconds(shortest);
  asked.load.longest_stall = from_milliseconds(std::max(shortest, longest));
  asked.when.every = from_milliseconds(every);
  asked.load.stalls_poll = !blind;
  if (names.empty()) names = usual_strategies();
  if (sweep) names = sweep_strategies();
  try {
    for (const auto& name : names) {
      asked.strategies.push_back(make_strategy(name));
      if (unpinned) asked.strategies.back().pinned = false;
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tail: %s\n", e.what());
    status = usage_error;
    return std::nullopt;
  }
  return asked;
}

} // namespace tail
