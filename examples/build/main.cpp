// build FILE: makes the targets of a file by its commands, at most so many at once, until all are made, one
// fails, or Ctrl-C.
//
//   printf 'hello: world\n echo hello\nworld:\n echo world\n' >recipe; build recipe
#include "executor.hpp"
#include "recipe.hpp"

#include <CLI/CLI.hpp>
#include <rubato/rubato.hpp>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <system_error>
#include <variant>
#include <vector>

namespace {

enum exit_status : int { all_made = 0, failed = 1, usage_error = 2, stopped = 128 };

struct options {
  std::string file;
  std::size_t at_once = rubato::usable_cpus();
  unsigned workers = 1; // a command that runs holds no thread
  bool verbose = false;
};

std::vector<build::target> recipe_of(const std::string& path) {
  std::ifstream text(path);
  if (!text) throw std::system_error(errno, std::generic_category(), "cannot read " + path);
  try {
    return build::read_recipe(text);
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

/// Yields the number of the signal that has ended the run, or 0.
rubato::task<int> run_until_signal(build::executor& all, rubato::signal_set& signals) {
  auto first = rubato::when_first(all.run(), signals.next());
  const auto end = co_await std::move(first); // the loser has ended too: no child is left
  co_return end.index == 0 ? 0 : std::get<1>(end.value);
}

int run(const options& asked) {
  const auto targets = recipe_of(asked.file);
  rubato::pool pool(rubato::pool_options().workers(asked.workers).name("build"));
  rubato::signal_set signals(SIGINT, SIGTERM);
  build::executor all(targets, asked.at_once, asked.verbose);
  const auto begin = std::chrono::steady_clock::now();
  const auto tell = [&](std::FILE* stream) {
    const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::fprintf(stream, "%zu of %zu targets made in %.2f s\n", all.made(), targets.size(), seconds);
  };
  try {
    const int signal = pool.block_on(run_until_signal(all, signals));
    if (signal != 0) std::fprintf(stderr, "build: stopped by signal %d\n", signal);
    tell(signal == 0 ? stdout : stderr);
    return signal == 0 ? all_made : stopped + signal;
  } catch (const build::failure& error) {
    std::fprintf(stderr, "build: %s", error.what());
    tell(stderr);
    return failed;
  }
}

} // namespace

int main(int argc, char** argv) {
  options asked;
  CLI::App app(
      "Makes the targets of a file, each after those that it needs:\n"
      "  program: main.o shapes.o\n"
      "    cc -o program main.o shapes.o\n"
      "The first failure, or Ctrl-C, ends all commands. Exit status: 0 all targets were made, 1 one failed,\n"
      "2 wrong usage, 130 or 143: stopped by SIGINT or SIGTERM.",
      "build");
  app.add_option("FILE", asked.file, "the targets, what they need, and their commands")->required();
  app.add_option("-j,--jobs", asked.at_once, "commands that run at once; unset: the usable cores")
      ->check(CLI::Range(1, 10'000))
      ->type_name("N");
  app.add_option("-w,--workers", asked.workers, "threads of the pool")
      ->check(CLI::Range(1, 1024))
      ->type_name("N")
      ->capture_default_str();
  app.add_flag("-v,--verbose", asked.verbose, "print the name of each target when it is made");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? all_made : usage_error;
  }
  try {
    return run(asked);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "build: %s\n", error.what());
    return failed;
  }
}
