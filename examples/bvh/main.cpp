// bvh: builds a tree of boxes over the triangles of a scene, and looks up where rays hit it.
//
//   bvh 10000 100000 1000000
#include "nodes.hpp"
#include "shared/workers.hpp"
#include "tree.hpp"
#include "triangles.hpp"

#include <CLI/CLI.hpp>
#include <rubato/algorithm.hpp>
#include <rubato/pool.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

namespace {

struct options {
  std::vector<std::uint32_t> sizes;
  std::uint32_t rays = 16, rounds = 3;
  std::uint64_t seed = 0;
  unsigned workers = rubato::usable_cpus();
};

/// Milliseconds.
template<class F>
double time_of(F f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Some rays, beside a look at every triangle. Returns how many hit one.
unsigned check(const std::vector<bvh::triangle>& scene, const bvh::tree& tree, const options& asked) {
  std::vector<float> hits(asked.rays);
  rubato::for_index(0U, asked.rays, [&](unsigned i) {
    const bvh::ray ray = bvh::random_ray(asked.seed, i);
    float nearest = bvh::far_away;
    for (const auto& t : scene) nearest = std::min(nearest, bvh::distance_to(t, ray));
    hits[i] = bvh::first_hit(tree.nodes(), scene, ray);
    if (hits[i] != nearest) throw std::logic_error("ray " + std::to_string(i) + " hits the wrong triangle");
  });
  return asked.rays - static_cast<unsigned>(std::ranges::count(hits, bvh::far_away));
}

void run(const options& asked) {
  rubato::pool pool(example::with_workers(asked.workers).name("bvh"));
  std::printf("%10s %10s %10s %10s   rays that hit\n", "triangles", "init ms", "sort ms", "build ms");
  for (const std::uint32_t size : asked.sizes) {
    const auto scene = bvh::random_scene(size, asked.seed);
    bvh::tree tree;
    pool.run([&] {
      double init = 1e9, sort = 1e9, build = 1e9;
      for (std::uint32_t round = 0; round != asked.rounds; ++round) {
        init = std::min(init, time_of([&] { tree.init(scene); }));
        sort = std::min(sort, time_of([&] { tree.sort(); }));
        build = std::min(build, time_of([&] { tree.build(); }));
      }
      std::printf("%10u %10.3f %10.3f %10.3f   %u of %u\n", size, init, sort, build,
                  check(scene, tree, asked), asked.rays);
    });
  }
}

} // namespace

int main(int argc, char** argv) {
  options asked;
  CLI::App app(
      "Builds a bounding-volume hierarchy over random triangles. Says how long each step takes, the\n"
      "fastest of some rounds, and compares where rays hit it with a look at every triangle.",
      "bvh");
  app.add_option("sizes", asked.sizes, "numbers of triangles; unset: 10,000, 100,000 and 1,000,000")
      ->type_name("TRIANGLES")
      ->check(CLI::Range(1U, 100'000'000U));
  app.add_option("--rays", asked.rays, "to check the tree with")
      ->check(CLI::Range(0U, 1'000'000U))
      ->capture_default_str();
  app.add_option("--rounds", asked.rounds, "of each size")
      ->check(CLI::Range(1U, 1'000'000U))
      ->capture_default_str();
  app.add_option("--seed", asked.seed, "of the scenes")->capture_default_str();
  app.add_option("-w,--workers", asked.workers, "threads; unset: the usable cores")
      ->check(CLI::Range(0U, 1024U));
  constexpr int usage_error = 2;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : usage_error;
  }
  if (asked.sizes.empty()) asked.sizes = {10'000, 100'000, 1'000'000};
  try {
    run(asked);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "bvh: %s\n", e.what());
    return 1;
  }
}
