// life: Conway's Game of Life at 60 frames per second, and which share of the CPU's time that takes.
//
//   life --rows 50 --columns 150
//   life --quiet --how bridged
#include "generation.hpp"
#include "options.hpp"
#include "picture.hpp"
#include "shared/system.hpp"
#include "shared/workers.hpp"

#include <rubato/pool.hpp>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace {

using steady = std::chrono::steady_clock;

void show(const life::board& b, bool on_terminal) {
  const std::string text = on_terminal ? life::terminal_picture(b) : life::plain_picture(b) + '\n';
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw std::runtime_error("cannot write the picture");
}

void play(const life::options& asked) {
  rubato::pool pool(example::with_workers(asked.workers).name("life"));
  const auto seat =
      pool.join_as_member(); // else each frame would take a seat, and wake a worker in leaving it
  life::board now = life::random_board(asked.rows, asked.columns, asked.density, asked.seed);
  life::board next(asked.rows, asked.columns);
  const bool on_terminal = example::is_terminal(stdout);
  steady::duration computing{};

  const auto begin = steady::now();
  const std::clock_t cpu = std::clock(); // of all threads
  for (std::uint64_t frame = 0; frame != asked.frames; ++frame) {
    if (asked.draw) show(now, on_terminal);
    const auto start = steady::now();
    life::step(now, next, asked.how);
    computing += steady::now() - start;
    std::swap(now, next);
    if (asked.rate > 0)
      std::this_thread::sleep_until(
          begin + std::chrono::duration_cast<steady::duration>(
                      std::chrono::duration<double>(static_cast<double>(frame + 1) / asked.rate)));
  }
  const double cpu_s = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  const double wall_s = std::chrono::duration<double>(steady::now() - begin).count();
  std::fprintf(stderr, "%llu frames, %.1f us each; CPU %.2f %%; %zu cells live\n",
               static_cast<unsigned long long>(asked.frames),
               std::chrono::duration<double, std::micro>(computing).count() /
                   static_cast<double>(std::max<std::uint64_t>(1, asked.frames)),
               wall_s > 0 ? 100 * cpu_s / wall_s : 0, now.living());
}

} // namespace

int main(int argc, char** argv) {
  int status = life::done;
  const auto asked = life::parse_options(argc, argv, status);
  if (!asked) return status;
  try {
    play(*asked);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "life: %s\n", e.what());
    return life::failed;
  }
}
