// tail: how much of a latency's tail hedged calls take away, and what they cost.
//
//   tail --calls 10000 --svg tail.svg
#include "chart.hpp"
#include "experiment.hpp"
#include "options.hpp"
#include "replicas.hpp"
#include "report.hpp"
#include "shared/workers.hpp"
#include "work.hpp"

#include <rubato/pool.hpp>

#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

void write(const std::string& path, const std::string& text) {
  if (path.empty()) return;
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

std::unique_ptr<tail::target> make_target(const tail::options& asked) {
  if (!asked.replicas.empty()) return tail::make_replicas(asked.replicas, asked.user);
  return std::make_unique<tail::work>(asked.load);
}

void run(const tail::options& asked) {
  const std::unique_ptr<tail::target> called = make_target(asked);
  rubato::pool pool(example::with_workers(asked.workers).name("tail")); // its end waits for losers
  const auto results = tail::measure(pool, *called, asked.strategies, asked.when);
  std::printf("%s\n%s", tail::table(results).c_str(), tail::histogram(results).c_str());
  write(asked.csv, tail::csv(results));
  write(asked.svg, tail::distribution_chart(results));
  write(asked.work_svg, tail::work_chart(results));
}

} // namespace

int main(int argc, char** argv) {
  int status = tail::measured;
  const auto asked = tail::parse_options(argc, argv, status);
  if (!asked) return status;
  try {
    run(*asked);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "tail: %s\n", e.what());
    return tail::failed;
  }
}
