// The echo server of the benchmark, on libuv: THREADS threads, a loop each. Each loop has a listener for the
// same port, and the kernel deals the connections out.
#include <uv.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

void check(int error) {
  if (error >= 0) return;
  std::fprintf(stderr, "bench-echo-libuv: %s\n", uv_strerror(error));
  std::exit(1);
}

struct session {
  uv_tcp_t socket{};
  uv_write_t write{};
  std::array<char, 16 * 1024> bytes{};

  explicit session(uv_loop_t* loop) {
    check(uv_tcp_init(loop, &socket));
    socket.data = this;
    write.data = this;
  }
  void end() {
    uv_close(reinterpret_cast<uv_handle_t*>(&socket),
             [](uv_handle_t* h) { delete static_cast<session*>(h->data); });
  }
  void read() {
    check(uv_read_start(
        reinterpret_cast<uv_stream_t*>(&socket),
        [](uv_handle_t* h, std::size_t, uv_buf_t* buffer) {
          auto& s = *static_cast<session*>(h->data);
          *buffer = uv_buf_init(s.bytes.data(), static_cast<unsigned>(s.bytes.size()));
        },
        [](uv_stream_t* stream, ssize_t n, uv_buf_t const*) {
          auto& s = *static_cast<session*>(stream->data);
          if (n < 0) return s.end();
          if (n > 0) s.answer(static_cast<std::size_t>(n));
        }));
  }
  /// At once if the kernel takes all, which spares the buffer a queue; else reading stops until it has.
  void answer(std::size_t n) {
    auto* const stream = reinterpret_cast<uv_stream_t*>(&socket);
    uv_buf_t rest = uv_buf_init(bytes.data(), static_cast<unsigned>(n));
    int const written = uv_try_write(stream, &rest, 1);
    if (written == static_cast<int>(n)) return;
    if (written > 0)
      rest = uv_buf_init(bytes.data() + written, static_cast<unsigned>(n) - static_cast<unsigned>(written));
    uv_read_stop(stream);
    check(uv_write(&write, stream, &rest, 1, [](uv_write_t* w, int error) {
      auto& s = *static_cast<session*>(w->data);
      if (error != 0) return s.end();
      s.read();
    }));
  }
};

struct server {
  uv_loop_t loop{};
  uv_tcp_t listener{};

  /// Returns the port.
  int listen(int port) {
    check(uv_loop_init(&loop));
    check(uv_tcp_init_ex(&loop, &listener, AF_INET));
    uv_os_fd_t fd = 0;
    check(uv_fileno(reinterpret_cast<uv_handle_t*>(&listener), &fd));
    int const on = 1;
    if (::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) check(UV_EINVAL);
    sockaddr_in address{};
    check(uv_ip4_addr("127.0.0.1", port, &address));
    check(uv_tcp_bind(&listener, reinterpret_cast<sockaddr*>(&address), 0));
    check(uv_listen(reinterpret_cast<uv_stream_t*>(&listener), 1024, [](uv_stream_t* l, int error) {
      check(error);
      auto* const s = new session(l->loop);
      if (uv_accept(l, reinterpret_cast<uv_stream_t*>(&s->socket)) != 0) return s->end();
      check(uv_tcp_nodelay(&s->socket, 1));
      s->read();
    }));
    int size = sizeof address;
    check(uv_tcp_getsockname(&listener, reinterpret_cast<sockaddr*>(&address), &size));
    return ntohs(address.sin_port);
  }
  void run() { check(uv_run(&loop, UV_RUN_DEFAULT)); }
};

} // namespace

int main(int argc, char** argv) {
  int const threads = argc > 1 ? std::atoi(argv[1]) : 1;
  std::vector<server> servers(static_cast<std::size_t>(threads));
  int port = 0;
  for (server& s : servers) port = s.listen(port);
  std::printf("%d\n", port);
  std::fflush(stdout);
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < servers.size(); ++i) others.emplace_back([&s = servers[i]] { s.run(); });
  servers.front().run(); // until the process is killed
}
