#include "servers.hpp"

#include "service.hpp"

#include <rubato/rubato.hpp>

#include <csignal>
#include <cstdio>

namespace savegame {

namespace {

rubato::task<void> accept_all(rubato::tcp_listener& listener, service<on_rubato>& all) {
  co_await rubato::with_async_scope([&](rubato::scope& connections) -> rubato::task<void> {
    for (;;) {
      std::error_code error;
      rubato::tcp_socket client = co_await listener.accept(error);
      if (error == std::errc::operation_canceled || error == std::errc::bad_file_descriptor) break; // closed
      if (!error) connections.spawn(all.serve(std::move(client)));
    }
    co_await connections.join();
  });
}

rubato::task<void> next_of(rubato::signal_set& signals) { co_await signals.next(); }

} // namespace

void run_rubato(const options& asked) {
  rubato::pool pool(rubato::pool_options().workers(asked.workers).name("savegame"));
  service<on_rubato> all(asked);
  rubato::tcp_listener listener(rubato::address(asked.host, asked.port));
  rubato::future<void> accepting;
  {
    rubato::signal_set signals(SIGINT, SIGTERM);
    std::printf("listening on %s\n", listener.local_address().to_string().c_str());
    std::fflush(stdout);
    accepting = pool.spawn(accept_all(listener, all));
    pool.block_on(next_of(signals));
  } // a second signal ends the program at once
  listener.close();
  all.close();
  if (!accepting.wait_for(asked.grace()))
    std::fprintf(stderr, "savegame: some clients do not read or write: they are cut off\n");
  if (!pool.shutdown(rubato::drain, asked.grace()))
    std::fprintf(stderr, "savegame: some requests were cut off\n");
}

} // namespace savegame
