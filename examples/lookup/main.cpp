// lookup: asks the DNS for the addresses of hosts, all at the same time, and prints them. The questions are
// those of c-ares, a C library; its descriptors are awaited with readable() and writable().
//
//   lookup example.org example.com
#include "lookup.hpp"

#include <CLI/CLI.hpp>
#include <rubato/rubato.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace {

int print(const std::vector<lookup::answer>& answers) {
  int status = 0;
  for (const lookup::answer& a : answers) {
    for (const rubato::address& at : a.addresses) std::printf("%s  %s\n", a.name.c_str(), at.host().c_str());
    if (!a.addresses.empty()) continue;
    std::fprintf(stderr, "lookup: %s: %s\n", a.name.c_str(), a.error.c_str());
    status = 1;
  }
  return status;
}

/// Of a signal: 128 and its number.
rubato::task<int> status_of(rubato::signal_set& signals) { co_return 128 + co_await signals.next(); }

rubato::task<int> print_all(std::vector<std::string> names, lookup::settings s) {
  try {
    co_return print(co_await lookup::look_up(std::move(names), std::move(s)));
  } catch (const rubato::cancelled&) {
    throw;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lookup: %s\n", e.what());
    co_return 1;
  }
}

int run(std::vector<std::string> names, lookup::settings s) {
  rubato::pool pool(rubato::pool_options().workers(1).name("lookup"));
  rubato::signal_set signals(SIGINT, SIGTERM);
  auto first = rubato::when_first(print_all(std::move(names), std::move(s)), status_of(signals));
  const auto [which, status] = pool.block_on(std::move(first)); // the loser has been stopped
  return which == 0 ? std::get<0>(status) : std::get<1>(status);
}

} // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  lookup::settings s;
  std::uint64_t timeout = 2000;
  CLI::App app("Asks the DNS for the addresses of hosts, all at the same time. Ctrl-C ends it.", "lookup");
  app.add_option("name", names, "of a host")->required();
  app.add_option("--server", s.servers, "the servers to ask, such as 127.0.0.1:53; unset: as the system does")
      ->type_name("ADDRESS,...");
  app.add_option("-t,--timeout", timeout, "for a server's first answer")
      ->check(CLI::Range(1, 600'000))
      ->type_name("MS");
  app.add_option("--tries", s.tries, "how often a server is asked")->check(CLI::Range(1, 100));
  CLI11_PARSE(app, argc, argv);
  s.timeout = std::chrono::milliseconds(timeout);
  try {
    return run(std::move(names), std::move(s));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lookup: %s\n", e.what());
    return 1;
  }
}
