// The echo server of the benchmark, on TooManyCooks and Asio: one thread runs Asio and the coroutines, or,
// with 2 THREADS, one runs Asio and the other the coroutines.
#define TMC_IMPL
#include <asio.hpp>
#include <tmc/all_headers.hpp>
#include <tmc/asio/aw_asio.hpp>
#include <tmc/asio/ex_asio.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <utility>

namespace {

using asio::ip::tcp;

tmc::task<void> serve(tcp::socket client) {
  std::array<char, 16 * 1024> bytes;
  client.set_option(tcp::no_delay(true));
  for (;;) {
    auto const [read_error, n] = co_await client.async_read_some(asio::buffer(bytes), tmc::aw_asio);
    if (read_error) co_return;
    auto const [write_error, written] =
        co_await asio::async_write(client, asio::buffer(bytes, n), tmc::aw_asio);
    if (write_error) co_return;
  }
}

template<class Executor>
tmc::task<void> accept_all(tcp::acceptor& from, Executor& on) {
  for (;;) {
    auto [error, client] = co_await from.async_accept(tmc::aw_asio);
    if (!error) tmc::post(on, serve(std::move(client)), 0);
  }
}

} // namespace

int main(int argc, char** argv) {
  bool const two = argc > 1 && std::atoi(argv[1]) > 1;
  tmc::asio_executor().init();
  tcp::acceptor acceptor(tmc::asio_executor(), tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  std::printf("%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  if (two) {
    tmc::cpu_executor().set_thread_count(1).init();
    tmc::post(tmc::cpu_executor(), accept_all(acceptor, tmc::cpu_executor()), 0);
  } else {
    tmc::post(tmc::asio_executor(), accept_all(acceptor, tmc::asio_executor()), 0);
  }
  for (;;) ::pause(); // until the process is killed
}
