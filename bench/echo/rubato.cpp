// The echo server of the benchmark, on Rubato: THREADS workers.
#include <rubato/rubato.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

namespace {

rubato::task<void> serve(rubato::tcp_socket client) {
  std::array<char, 16 * 1024> bytes;
  for (;;) {
    std::error_code error;
    std::size_t const n = co_await client.read_some(bytes, error);
    if (error || n == 0) co_return;
    co_await client.write_all(std::string_view(bytes.data(), n), error);
    if (error) co_return;
  }
}

rubato::task<void> accept_all(rubato::tcp_listener const& listener) {
  co_await rubato::with_async_scope([&](rubato::scope& connections) -> rubato::task<void> {
    for (;;) {
      rubato::tcp_socket client = co_await listener.accept();
      connections.spawn(serve(std::move(client)));
    }
  });
}

} // namespace

int main(int argc, char** argv) {
  rubato::pool pool(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1);
  rubato::tcp_listener const listener(rubato::address::loopback(0));
  std::printf("%d\n", listener.local_address().port());
  std::fflush(stdout);
  pool.spawn(accept_all(listener)).get(); // until the process is killed
}
