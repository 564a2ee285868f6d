// bench-graph WORKERS SYSTEMS FRAMES: empty systems of a game, each of which waits for up to three earlier
// ones, frame by frame. Prints a line per way to write that: its name, and the milliseconds of all frames.
// bench/graph.py
#include <rubato/rubato.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <vector>

namespace {

/// Which systems each one waits for, and which wait for it.
struct graph {
  std::vector<std::vector<std::size_t>> before, after;

  explicit graph(std::size_t systems)
      : before(systems)
      , after(systems) {
    std::mt19937 random(1);
    for (std::size_t i = 1; i != systems; ++i)
      for (std::size_t k = random() % 4; k != 0; --k) {
        std::size_t const d = random() % i;
        if (std::find(before[i].begin(), before[i].end(), d) != before[i].end()) continue;
        before[i].push_back(d);
        after[d].push_back(i);
      }
  }
  [[nodiscard]] std::size_t size() const { return before.size(); }
};

std::atomic<std::size_t> ran{0};
void system_body() { ran.fetch_add(1, std::memory_order_relaxed); }

/// One frame, by futures.
void then_frame(rubato::pool& pool, graph const& g) {
  std::vector<rubato::shared_future<void>> all;
  all.reserve(g.size());
  for (std::vector<std::size_t> const& before : g.before) {
    if (before.empty()) {
      all.push_back(pool.spawn(&system_body));
      continue;
    }
    std::vector<rubato::shared_future<void>> sources;
    sources.reserve(before.size());
    for (std::size_t const d : before) sources.push_back(all[d]);
    all.push_back(rubato::when_all(std::move(sources)).then([](auto&&) { system_body(); }));
  }
  rubato::when_all(std::move(all)).get();
}

/// The same, by a counter per system: docs/recipes/work.md.
class counters {
  rubato::pool& pool_;
  graph const& graph_;
  std::vector<std::atomic<std::size_t>> left_;
  std::atomic<std::size_t> running_{0};
  rubato::promise<void> done_;

  void run(std::size_t i) {
    system_body();
    for (std::size_t const next : graph_.after[i])
      if (left_[next].fetch_sub(1) == 1) pool_.enqueue([this, next] { run(next); });
    if (running_.fetch_sub(1) == 1) done_.set_value();
  }

public:
  counters(rubato::pool& p, graph const& g)
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

template<class Frame>
void measure(char const* name, rubato::pool& pool, int frames, Frame frame) {
  pool.run([&] {
    frame(); // fills the caches
    auto const begin = std::chrono::steady_clock::now();
    for (int i = 0; i != frames; ++i) frame();
    std::chrono::duration<double, std::milli> const took = std::chrono::steady_clock::now() - begin;
    std::printf("%s %.2f\n", name, took.count());
  });
}

int run(unsigned workers, std::size_t systems, int frames) {
  graph const g(systems);
  rubato::pool pool(workers);
  measure("then", pool, frames, [&] { then_frame(pool, g); });
  counters by_hand(pool, g);
  measure("counters", pool, frames, [&] { by_hand.frame(); });
  return ran == 2 * systems * static_cast<std::size_t>(frames + 1) ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bench-graph WORKERS SYSTEMS FRAMES\n");
    return 2;
  }
  try {
    return run(static_cast<unsigned>(std::atoi(argv[1])), static_cast<std::size_t>(std::atoi(argv[2])),
               std::atoi(argv[3]));
  } catch (std::exception const& e) {
    std::fprintf(stderr, "bench-graph: %s\n", e.what());
    return 1;
  }
}
