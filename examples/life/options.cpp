#include "options.hpp"

#include <CLI/CLI.hpp>
#include <rubato/pool.hpp>

#include <map>
#include <string>

namespace life {

std::optional<options> parse_options(int argc, const char* const* argv, int& status) {
  options asked;
  asked.workers = rubato::usable_cpus();
  bool quiet = false;
  const std::map<std::string, way> ways{
      {"serial", way::serial}, {"parallel", way::parallel}, {"bridged", way::bridged}};

  CLI::App app("Plays Conway's Game of Life so many frames a second, and says what that costs.\n"
               "Draws on a terminal in place, else one frame after the other.",
               "life");
  app.add_option("--rows", asked.rows, "of the board")->check(CLI::Range(1, 100'000))->capture_default_str();
  app.add_option("--columns", asked.columns, "of the board")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("-n,--frames", asked.frames, "then it ends")->capture_default_str();
  app.add_option("--rate", asked.rate, "frames per second; 0: one right after the other")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--how", asked.how,
                 "serial; parallel: a loop over the rows; bridged: threads take rows from a sequence")
      ->transform(CLI::CheckedTransformer(ways, CLI::ignore_case))
      ->type_name("WAY");
  app.add_option("--density", asked.density, "the share of cells that live at first")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--seed", asked.seed, "of the first frame")->capture_default_str();
  app.add_option("-w,--workers", asked.workers, "threads; unset: the usable cores")
      ->check(CLI::Range(0, 1024));
  app.add_flag("-q,--quiet", quiet, "draws nothing");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? done : usage_error;
    return std::nullopt;
  }
  asked.draw = !quiet;
  return asked;
}

} // namespace life
