#include "options.hpp"

#include <CLI/CLI.hpp>
#include <rubato/pool.hpp>

#include <map>

namespace savegame {

std::optional<options> parse_options(int argc, const char* const* argv, int& status) {
  options asked;
  asked.workers = rubato::usable_cpus();
  std::uint64_t period = 100, deadline = 5, client_deadline = 10, idle = 60;
  const std::map<std::string, scheduler> schedulers{
      {"rubato", scheduler::rubato}, {"updater", scheduler::updater}, {"threads", scheduler::threads}};

  CLI::App app(
      "Keeps the saves of a game: PUT /save/USER with lines of key=value changes them, GET /save/USER and\n"
      "GET /stats read. The saves are in Redis. Listens on the loopback interface unless --host says\n"
      "otherwise. Ctrl-C ends it when the requests under way have been answered; a second one at once.",
      "savegame");
  app.add_option("--host", asked.host, "where to listen: a numeric address")->capture_default_str();
  app.add_option("-p,--port", asked.port, "0: a free port, which is printed")->capture_default_str();
  app.add_option("-r,--redis", asked.redis, "a numeric address with its port, or the path of a Unix socket")
      ->capture_default_str();
  app.add_option("-s,--scheduler", asked.runs_on, "what the connections run on")
      ->transform(CLI::CheckedTransformer(schedulers, CLI::ignore_case));
  app.add_option("-w,--workers", asked.workers, "threads; unset: the usable cores")
      ->check(CLI::Range(1, 1024));
  app.add_option("--period", period, "of the updater, in milliseconds")->check(CLI::Range(1, 10'000));
  app.add_option("--deadline", deadline, "for a request's work, in seconds; a lock lives twice as long")
      ->check(CLI::Range(1, 3600));
  app.add_option("--client-deadline", client_deadline, "for a client to send or to take, in seconds")
      ->check(CLI::Range(1, 3600));
  app.add_option("--idle", idle, "for a client without a request, in seconds")->check(CLI::Range(1, 86'400));
  app.add_option("--connections", asked.connections, "of clients at a time")->capture_default_str();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? 0 : 2;
    return std::nullopt;
  }
  asked.period = std::chrono::milliseconds(period);
  asked.deadline = std::chrono::seconds(deadline);
  asked.client_deadline = std::chrono::seconds(client_deadline);
  asked.idle = std::chrono::seconds(idle);
  return asked;
}

} // namespace savegame
