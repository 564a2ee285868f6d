// frames: a game without a screen. 5,000 entities, eleven systems, sixty frames per second, and how long a
// frame takes.
//
//   frames --frames 600          frames --dot | dot -Tsvg >frame.svg
#include "shared/workers.hpp"
#include "systems.hpp"
#include "world.hpp"

#include <CLI/CLI.hpp>
#include <rubato/rubato.hpp>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <exception>
#include <iostream>
#include <thread>
#include <vector>

namespace {

struct options {
  std::size_t frames = 600;
  std::size_t entities = 5000;
  unsigned rate = 60;
  unsigned workers = rubato::usable_cpus();
  bool dot = false;
};

using clock = std::chrono::steady_clock;
using milliseconds = std::chrono::duration<double, std::milli>;

/// How long each frame took, without the sleep before it.
std::vector<double> play(rubato::task_graph& frame, rubato::pool& pool, const options& asked) {
  std::vector<double> took;
  auto next = clock::now();
  for (std::size_t i = 0; i != asked.frames; ++i) {
    if (asked.rate != 0) {
      std::this_thread::sleep_until(next);
      next += std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(1.0 / asked.rate));
    }
    const auto begin = clock::now();
    frame.run(pool); // this thread runs systems too
    took.push_back(milliseconds(clock::now() - begin).count());
  }
  return took;
}

void print(std::vector<double> took, const options& asked) {
  std::ranges::sort(took);
  const auto quantile = [&](double q) {
    return took.empty() ? 0 : took[static_cast<std::size_t>(q * static_cast<double>(took.size() - 1))];
  };
  std::printf("%zu entities, %u workers, %zu frames\n", asked.entities, asked.workers, took.size());
  std::printf("frame  p50 %.3f ms, p99 %.3f ms, longest %.3f ms\n", quantile(0.5), quantile(0.99),
              quantile(1));
  if (asked.rate == 0) return;
  const auto late = took.end() - std::ranges::upper_bound(took, 1000.0 / asked.rate);
  std::printf("late   %zd, at %u Hz\n", late, asked.rate);
}

void run(const options& asked) {
  frames::world world(asked.entities);
  rubato::task_graph frame = frames::frame_of(world);
  if (asked.dot) {
    frame.dot(std::cout);
    return;
  }
  rubato::pool pool(example::with_workers(asked.workers).name("frames"));
  print(play(frame, pool, asked), asked);
  std::printf("state  %016" PRIx64 "\n", world.checksum()); // the same for any number of workers
}

} // namespace

int main(int argc, char** argv) {
  options asked;
  CLI::App app("Runs the systems of a game frame by frame and prints how long a frame took.", "frames");
  app.add_option("-f,--frames", asked.frames, "how many")->type_name("N")->capture_default_str();
  app.add_option("-e,--entities", asked.entities, "how many")
      ->check(CLI::Range(1, 10'000'000))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("-r,--rate", asked.rate, "frames per second; 0: one after the other")
      ->check(CLI::Range(0, 10'000))
      ->type_name("HZ")
      ->capture_default_str();
  app.add_option("-w,--workers", asked.workers,
                 "threads besides the one that runs the frames; unset: the usable cores")
      ->check(CLI::Range(0, 1024))
      ->type_name("N");
  app.add_flag("--dot", asked.dot, "print the graph of the systems for Graphviz, and run nothing");
  CLI11_PARSE(app, argc, argv);
  try {
    run(asked);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "frames: %s\n", e.what());
    return 1;
  }
}
