// echo: sends back what each connection sends, until Ctrl-C. A server in its simplest whole form: it accepts
// in one coroutine, serves each connection in another, and ends in an orderly way.
#include <CLI/CLI.hpp>
#include <rubato/rubato.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace std::chrono_literals;

/// One connection. Its errors are its own: an exception that left it would stop the whole scope.
rubato::task<void> serve(rubato::tcp_socket client) {
  std::array<char, 16 * 1024> bytes{};
  std::error_code error;
  for (;;) {
    const std::size_t n = co_await client.read_some(bytes, error);
    if (error || n == 0) co_return; // the client has gone, or the pool ends
    co_await client.write_all(std::string_view(bytes.data(), n), error);
    if (error) co_return;
  }
}

rubato::task<void> accept_all(rubato::tcp_listener& listener) {
  co_await rubato::with_async_scope([&](rubato::scope& connections) -> rubato::task<void> {
    for (;;) {
      std::error_code error;
      rubato::tcp_socket client = co_await listener.accept(error);
      if (error == std::errc::operation_canceled || error == std::errc::bad_file_descriptor) break; // closed
      if (!error) connections.spawn(serve(std::move(client)));
    }
    co_await connections.join();
  });
}

/// Nothing new is accepted after the first signal; the pool's end stops what then still waits.
rubato::task<void> close_at_signal(rubato::signal_set& signals, rubato::tcp_listener& listener) {
  const int signal = co_await signals.next();
  std::printf("signal %d: no more connections\n", signal);
  listener.close();
}

void run(std::uint16_t port, unsigned workers) {
  rubato::pool pool(rubato::pool_options().workers(workers).name("echo"));
  rubato::signal_set signals(SIGINT, SIGTERM);
  rubato::tcp_listener listener(rubato::address::loopback(port));
  std::printf("listening on %s\n", listener.local_address().to_string().c_str());
  std::fflush(stdout);
  auto accepting = pool.spawn(accept_all(listener));
  pool.block_on(close_at_signal(signals, listener));
  if (!accepting.wait_for(1s)) std::puts("connections are still open: they end now");
  pool.shutdown(rubato::drain, 1s);
}

} // namespace

int main(int argc, char** argv) {
  std::uint16_t port = 0;
  unsigned workers = rubato::usable_cpus();
  CLI::App app(
      "Sends back what each TCP connection sends. Listens on the loopback interface; Ctrl-C ends it.",
      "echo");
  app.add_option("-p,--port", port, "where to listen; 0: a free port, which is printed")->type_name("PORT");
  app.add_option("-w,--workers", workers, "threads; unset: the usable cores")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  CLI11_PARSE(app, argc, argv);
  try {
    run(port, workers);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "echo: %s\n", e.what());
    return 1;
  }
}
