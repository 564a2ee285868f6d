// The echo server of the benchmark, on Asio: THREADS threads run one io_context, each connection a chain of
// callbacks.
#include <asio.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace {

using asio::ip::tcp;

class session : public std::enable_shared_from_this<session> {
  tcp::socket socket_;
  std::array<char, 16 * 1024> bytes_{};

public:
  explicit session(tcp::socket s)
      : socket_(std::move(s)) {
    socket_.set_option(tcp::no_delay(true));
  }
  void read() {
    socket_.async_read_some(asio::buffer(bytes_),
                            [self = shared_from_this()](std::error_code e, std::size_t n) {
                              if (!e) self->write(n);
                            });
  }
  void write(std::size_t n) {
    asio::async_write(socket_, asio::buffer(bytes_, n),
                      [self = shared_from_this()](std::error_code e, std::size_t) {
                        if (!e) self->read();
                      });
  }
};

void accept_all(tcp::acceptor& from) {
  from.async_accept([&from](std::error_code e, tcp::socket s) {
    if (!e) std::make_shared<session>(std::move(s))->read();
    accept_all(from);
  });
}

} // namespace

int main(int argc, char** argv) {
  int const threads = argc > 1 ? std::atoi(argv[1]) : 1;
  asio::io_context io(threads);
  tcp::acceptor acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  std::printf("%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  accept_all(acceptor);
  std::vector<std::jthread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back([&io] { io.run(); });
  io.run(); // until the process is killed
}
