// chat: what one client says, all others read, until Ctrl-C. Each member has a bounded channel of lines: a
// slow reader holds up the speakers, and is disconnected if it reads nothing for a second.
//
//   chat --port 5000 &    nc localhost 5000
#include "connection.hpp"
#include "room.hpp"

#include <CLI/CLI.hpp>
#include <rubato/rubato.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <utility>

namespace {

using namespace std::chrono_literals;

rubato::task<void> accept_all(const rubato::tcp_listener& listener, chat::room& room, chat::limits limits) {
  co_await rubato::with_async_scope([&](rubato::scope& connections) -> rubato::task<void> {
    for (;;) {
      std::error_code error;
      rubato::tcp_socket client = co_await listener.accept(error);
      if (error == std::errc::operation_canceled || error == std::errc::bad_file_descriptor) break; // closed
      if (!error) connections.spawn(chat::converse(room, std::move(client), limits));
    }
    co_await connections.join();
  });
}

/// Nothing new is accepted after the first signal; the pool's end stops what then still waits.
rubato::task<void> close_at_signal(rubato::signal_set& signals, rubato::tcp_listener& listener) {
  const int signal = co_await signals.next();
  std::printf("signal %d: the chat ends\n", signal);
  listener.close();
}

void run(std::uint16_t port, unsigned workers, chat::limits limits) {
  rubato::pool pool(rubato::pool_options().workers(workers).name("chat"));
  rubato::signal_set signals(SIGINT, SIGTERM);
  rubato::tcp_listener listener(rubato::address::loopback(port));
  std::printf("listening on %s\n", listener.local_address().to_string().c_str());
  std::fflush(stdout);
  chat::room room(1s);
  auto accepting = pool.spawn(accept_all(listener, room, limits));
  pool.block_on(close_at_signal(signals, listener));
  pool.shutdown(rubato::drain, 1s); // ends the connections that only wait
}

} // namespace

int main(int argc, char** argv) {
  std::uint16_t port = 0;
  unsigned workers = rubato::usable_cpus();
  chat::limits limits;
  CLI::App app(
      "Passes what one TCP client says, line by line, to all others. Listens on the loopback interface; "
      "Ctrl-C ends it.",
      "chat");
  app.add_option("-p,--port", port, "where to listen; 0: a free port, which is printed")->type_name("PORT");
  app.add_option("-w,--workers", workers, "threads; unset: the usable cores")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.add_option("--outbox", limits.outbox_lines, "lines that a slow reader may lag behind")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    run(port, workers, limits);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "chat: %s\n", e.what());
    return 1;
  }
}
