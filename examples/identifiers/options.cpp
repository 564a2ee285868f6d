#include "options.hpp"

#include <CLI/CLI.hpp>
#include <rubato/pool.hpp>

#include <limits>

namespace identifiers {

std::optional<options> parse_options(int argc, const char* const* argv, exit_status& status) {
  options asked;
  asked.workers = rubato::usable_cpus();
  bool all = false;
  bool no_baseline = false;

  CLI::App app("Counts every identifier, [A-Za-z_][A-Za-z0-9_]*, in all files below the given directories, "
               "on all cores.\n"
               "Symbolic links and special files found on the way are skipped, as grep -r does.\n"
               "Exit status: 0 everything was read, 1 something could not be read or there was nothing, 2 "
               "wrong usage.",
               "identifiers");
  app.add_option("PATH", asked.paths, "directories (or files) to read")->required();
  app.add_option("-w,--workers", asked.workers,
                 "threads that work; 0: only the caller's own; unset: the usable cores")
      ->check(CLI::Range(0, 1024))
      ->type_name("N");
  auto* top = app.add_option("-t,--top", asked.top, "how many identifiers to print (20)")
                  ->check(CLI::Range(0, 1'000'000'000))
                  ->type_name("N");
  app.add_flag("-a,--all", all, "print every identifier")->excludes(top);
  app.add_flag("--json", asked.json, "print the whole result as JSON");
  app.add_flag("--live", asked.live, "show what each worker does meanwhile, on the terminal");
  app.add_flag("--no-baseline", no_baseline, "do not count again with one worker for the speed-up");

  app.footer("Of each worker: run, the tasks it ran; handed, halves of work that it gave to one that asked;\n"
             "taken, halves of work that it took from one that did not answer.");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? all_read : usage_error;
    return std::nullopt;
  }
  if (all) asked.top = std::numeric_limits<std::size_t>::max();
  asked.baseline = !no_baseline;
  return asked;
}

} // namespace identifiers
