// savegame: a server that keeps the saves of a game in Redis, until Ctrl-C.
#include "options.hpp"
#include "servers.hpp"

#include "shared/system.hpp"

#include <csignal>
#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  int status = 0;
  const auto asked = savegame::parse_options(argc, argv, status);
  if (!asked) return status;
  std::signal(SIGPIPE, SIG_IGN); // hiredis writes to a server that may have gone
  example::raise_open_file_limit();
  try {
    if (asked->runs_on == savegame::scheduler::rubato)
      savegame::run_rubato(*asked);
    else
      savegame::run_baseline(*asked);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "savegame: %s\n", e.what());
    return 1;
  }
}
