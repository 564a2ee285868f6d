#include "options.hpp"

#include "tree.hpp"

#include <CLI/CLI.hpp>
#include <rubato/pool.hpp>

namespace pipeline {

std::optional<options> parse_options(int argc, const char* const* argv, int& status) {
  options asked;
  asked.workers = rubato::usable_cpus();

  CLI::App app(
      "Writes a manifest of all files below a directory, sorted by path: CRC-32, size, inflated size, path.\n"
      "Files that begin as gzip does are inflated, and the checksum is that of what they hold.\n"
      "Symbolic links and special files are skipped. Ctrl-C stops; then no manifest is written.\n"
      "Exit status: 0 everything was read, 1 something could not be read, inflated or written, 2 wrong\n"
      "usage, 130 or 143: stopped by SIGINT or SIGTERM.",
      "pipeline");
  app.add_option("DIR", asked.root, "the directory")->required();
  app.add_option("-o,--output", asked.manifest, "the manifest; unset: standard output")->type_name("FILE");
  app.add_option("-w,--workers", asked.workers,
                 "threads that work; 0: only the caller's own; unset: the usable cores")
      ->check(CLI::Range(0, 1024))
      ->type_name("N");
  app.add_option("-r,--readers", asked.readers, "files that are read at a time; unset: two per worker")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.add_flag("--json", asked.json, "a manifest in JSON, with all problems");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? all_read : usage_error;
    return std::nullopt;
  }
  if (asked.readers == 0) asked.readers = readers_for(asked.workers);
  return asked;
}

} // namespace pipeline
