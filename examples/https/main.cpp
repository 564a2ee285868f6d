// https: fetches URLs, all at the same time, and prints a line for each. TLS by OpenSSL, whose records an
// awaitable stream (tls.hpp) passes to a socket of Rubato's.
//
//   https https://example.org/ https://example.com/
#include "fetch.hpp"

#include <CLI/CLI.hpp>
#include <rubato/rubato.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

struct settings {
  std::vector<std::string> urls;
  std::string certificates;
  std::uint64_t seconds = 30, megabytes = 64;
  unsigned workers = rubato::usable_cpus();
};

/// Prints how it went; a failure of one URL is not that of the others.
rubato::task<bool> report(const std::string& url, const https::trust& trusted, const settings& s) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    const https::response r =
        co_await https::fetch(url, trusted, s.megabytes << 20, begin + std::chrono::seconds(s.seconds));
    const auto ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
    std::printf("%d  %zu bytes  %lld ms  %s\n", r.status, r.body.size(), static_cast<long long>(ms.count()),
                url.c_str());
    co_return r.status < 400;
  } catch (const rubato::cancelled&) {
    throw;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "https: %s: %s\n", url.c_str(), e.what());
    co_return false;
  }
}

rubato::task<int> report_all(const https::trust& trusted, const settings& s) {
  std::vector<rubato::task<bool>> all;
  for (const std::string& url : s.urls) all.push_back(report(url, trusted, s));
  const std::vector<bool> good = co_await rubato::when_all(std::move(all));
  int status = 0;
  for (const bool g : good) status = g ? status : 1;
  co_return status;
}

int run(const settings& s) {
  const https::trust trusted(s.certificates);
  rubato::pool pool(rubato::pool_options().workers(s.workers).name("https"));
  rubato::signal_set signals(SIGINT, SIGTERM);
  auto first = rubato::when_first(report_all(trusted, s), signals.next()); // the loser is stopped
  const auto [which, result] = pool.block_on(std::move(first));
  return which == 0 ? std::get<0>(result) : 128 + std::get<1>(result);
}

} // namespace

int main(int argc, char** argv) {
  settings s;
  CLI::App app("Fetches URLs by HTTPS, all at the same time. Ctrl-C ends it.", "https");
  app.add_option("url", s.urls, "such as https://example.org/")->required();
  app.add_option("--ca", s.certificates, "the certificates to trust, PEM; unset: those of the system")
      ->check(CLI::ExistingFile);
  app.add_option("-t,--timeout", s.seconds, "for each URL")->check(CLI::Range(1, 3600))->type_name("SECONDS");
  app.add_option("--most", s.megabytes, "the largest body")->check(CLI::Range(1, 4096))->type_name("MIB");
  app.add_option("-w,--workers", s.workers, "threads; unset: the usable cores")->check(CLI::Range(1, 1024));
  CLI11_PARSE(app, argc, argv);
  try {
    return run(s);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "https: %s\n", e.what());
    return 1;
  }
}
