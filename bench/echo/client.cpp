// echo-client PORT CONNECTIONS BYTES SECONDS: measures an echo server. Each connection has one message in
// flight; one thread serves all. Prints messages per second, and the median and the 99th percentile of the
// round trip in microseconds. The first round trip of a connection does not count: meanwhile this program
// opens the others.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

struct connection {
  int fd = -1;
  std::size_t missing = 0; ///< bytes of the answer
  bool counts = false;     ///< it has had an answer
  clock_type::time_point sent;
};

int connect_to(std::uint16_t port) {
  int const fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int const one = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0)
    throw std::runtime_error("no server listens on that port");
  return fd; // it blocks: a message is written whole
}

void send_one(connection& c, std::string const& message) {
  c.missing = message.size();
  c.sent = clock_type::now();
  if (::send(c.fd, message.data(), message.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(message.size()))
    throw std::runtime_error("the server has hung up");
}

void measure(std::uint16_t port, std::size_t count, std::size_t bytes, double seconds) {
  int const set = ::epoll_create1(EPOLL_CLOEXEC);
  std::string const message(bytes, 'x');
  std::vector<connection> all(count);
  for (std::size_t i = 0; i != count; ++i) {
    all[i].fd = connect_to(port);
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.u64 = i;
    ::epoll_ctl(set, EPOLL_CTL_ADD, all[i].fd, &e);
    send_one(all[i], message);
  }
  std::vector<float> trips;
  trips.reserve(1U << 22U);
  std::array<epoll_event, 256> events{};
  std::vector<char> buffer(128 * 1024);
  auto const begin = clock_type::now();
  auto const end =
      begin + std::chrono::duration_cast<clock_type::duration>(std::chrono::duration<double>(seconds));
  while (clock_type::now() < end) {
    int const n = ::epoll_wait(set, events.data(), events.size(), 100);
    for (int i = 0; i < n; ++i) {
      connection& c = all[events[static_cast<std::size_t>(i)].data.u64];
      ssize_t const got = ::recv(c.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got == 0) throw std::runtime_error("the server has hung up");
      if (got < 0) continue;
      c.missing -= static_cast<std::size_t>(got);
      if (c.missing != 0) continue;
      if (std::exchange(c.counts, true))
        trips.push_back(std::chrono::duration<float, std::micro>(clock_type::now() - c.sent).count());
      send_one(c, message);
    }
  }
  double const took = std::chrono::duration<double>(clock_type::now() - begin).count();
  if (trips.empty()) throw std::runtime_error("no answer came");
  std::sort(trips.begin(), trips.end());
  std::printf("%.0f %.1f %.1f\n", static_cast<double>(trips.size()) / took,
              static_cast<double>(trips[trips.size() / 2]),
              static_cast<double>(trips[trips.size() * 99 / 100]));
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: echo-client PORT CONNECTIONS BYTES SECONDS\n", stderr);
    return 2;
  }
  try {
    measure(static_cast<std::uint16_t>(std::atoi(argv[1])), std::strtoul(argv[2], nullptr, 10),
            std::strtoul(argv[3], nullptr, 10), std::strtod(argv[4], nullptr));
  } catch (std::exception const& e) {
    std::fprintf(stderr, "echo-client: %s\n", e.what());
    return 1;
  }
}
