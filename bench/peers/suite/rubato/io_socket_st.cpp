// Requests and answers over TCP on loopback: a server and a client, each a pool with one thread. Each
// connection has one request under way at a time. The requests and answers have as many bytes as those of the
// other entries.
//
//   io_socket_st [CONNECTIONS [REQUESTS]]
#include "program.hpp"

#include <rubato/rubato.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t request_bytes = 55, answer_bytes = 88;

/// Answers until the client ends the connection. Yields the number of answers.
rubato::task<std::size_t> serve(rubato::tcp_socket client) {
  std::array<char, answer_bytes> answer;
  answer.fill('a');
  std::array<char, 4096> bytes;
  for (std::size_t answered = 0;; ++answered) {
    std::error_code error;
    std::size_t const n = co_await client.read_some(bytes, error);
    if (error || n == 0) co_return answered;
    co_await client.write_all(answer, error);
    if (error) co_return answered;
  }
}

rubato::task<std::size_t> serve_all(rubato::tcp_listener const& listener, std::size_t connections) {
  std::vector<rubato::future<std::size_t>> served;
  while (served.size() != connections) {
    rubato::tcp_socket client = co_await listener.accept();
    served.push_back(rubato::spawn(serve(std::move(client))));
  }
  std::size_t answered = 0;
  for (auto& s : served) answered += co_await std::move(s);
  co_return answered;
}

rubato::task<void> ask(rubato::address server, std::size_t requests) {
  std::array<char, request_bytes> request;
  request.fill('r');
  std::array<char, 4096> bytes;
  rubato::tcp_socket connection = co_await rubato::tcp_socket::connect(server);
  for (std::size_t i = 0; i != requests; ++i) {
    std::error_code error;
    co_await connection.write_all(request, error);
    if (error) throw std::system_error(error, "request");
    std::size_t const n = co_await connection.read_some(bytes, error);
    if (error) throw std::system_error(error, "answer");
    entry::expect("bytes of an answer", answer_bytes, n);
  }
}

rubato::task<void> ask_all(rubato::address server, std::size_t connections, std::size_t requests) {
  std::vector<rubato::task<void>> clients;
  for (std::size_t i = 0; i != connections; ++i)
    clients.push_back(ask(server, requests * (i + 1) / connections - requests * i / connections));
  co_await rubato::when_all(std::move(clients));
}

} // namespace

int main(int argc, char** argv) {
  entry::arguments const arguments(argc, argv);
  std::size_t const connections = std::max<std::size_t>(arguments.number(1, 20), 1);
  std::size_t const requests = arguments.number(2, 100'000);
  rubato::pool server(1), client(1);
  rubato::tcp_listener const listener(rubato::address::loopback(0));
  auto answered = server.spawn(serve_all(listener, connections));
  auto const time = entry::microseconds([&] {
    client.spawn(ask_all(listener.local_address(), connections, requests)).get();
    entry::expect("answers", requests, answered.get());
  });
  std::printf("connections: %zu\n", connections);
  entry::report_begin();
  entry::report("requests", requests);
  entry::report_time(time);
  entry::report("requests/sec", requests * 1'000'000 / std::max(time, std::uint64_t{1}));
  entry::report_memory();
}
