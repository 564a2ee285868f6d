#include "os/io/socket.hpp"

#include "os/sanitizers.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace rubato::os {

namespace {

static_assert(sizeof(sockaddr_storage) <= socket_address::most && alignof(sockaddr_storage) <= 8);

sockaddr const* raw(socket_address const& a) noexcept { return reinterpret_cast<sockaddr const*>(a.bytes); }
sockaddr* raw(socket_address& a) noexcept { return reinterpret_cast<sockaddr*>(a.bytes); }

template<class Raw>
Raw as(socket_address const& a) noexcept {
  Raw r{};
  std::memcpy(&r, a.bytes, sizeof r);
  return r;
}
template<class Raw>
void store(socket_address& a, Raw const& r, std::size_t size = sizeof(Raw)) noexcept {
  std::memcpy(a.bytes, &r, sizeof r);
  a.size = static_cast<std::uint32_t>(size);
}

/// Calls again what a signal interrupted.
template<class Call>
io_result call(Call c) noexcept {
  for (;;) {
    auto const n = static_cast<std::ptrdiff_t>(c());
    if (n >= 0) return {.value = n, .error = 0};
    if (errno != EINTR) return {.value = -1, .error = errno};
  }
}

// recv() and send() of glibc are points where a thread may be cancelled: in a process with several threads,
// each changes an atomic word before and after the system call. Sanitizers need to see them called.
#if defined(RUBATO_UNDER_TSAN) || defined(RUBATO_UNDER_ASAN)
ssize_t receive_bytes(int fd, std::span<std::byte> into) noexcept {
  return ::recv(fd, into.data(), into.size(), 0);
}
ssize_t send_bytes(int fd, std::span<std::byte const> what) noexcept {
  return ::send(fd, what.data(), what.size(), MSG_NOSIGNAL);
}
#else
ssize_t receive_bytes(int fd, std::span<std::byte> into) noexcept {
  return ::syscall(SYS_recvfrom, fd, into.data(), into.size(), 0, nullptr, nullptr);
}
ssize_t send_bytes(int fd, std::span<std::byte const> what) noexcept {
  return ::syscall(SYS_sendto, fd, what.data(), what.size(), MSG_NOSIGNAL, nullptr, 0);
}
#endif

class resolver_errors final : public std::error_category {
public:
  [[nodiscard]] char const* name() const noexcept override { return "resolver"; }
  [[nodiscard]] std::string message(int e) const override { return ::gai_strerror(e); }
};

std::error_category const& resolver_category() noexcept {
  static resolver_errors const all;
  return all;
}

bool has_zero_byte(std::string const& text) noexcept { return text.find('\0') != text.npos; }

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// glibc takes a port modulo 65,536, and after blanks and a sign.
bool is_no_port(std::string const& service) noexcept {
  if (service.empty()) return false;
  bool const begins_a_name = (service.front() >= 'a' && service.front() <= 'z') ||
                             (service.front() >= 'A' && service.front() <= 'Z') || is_digit(service.front());
  if (!begins_a_name) return true;
  if (!std::ranges::all_of(service, is_digit))
    return false; // a name: the resolver knows whether there is one
  std::uint16_t port = 0;
  return std::from_chars(service.data(), service.data() + service.size(), port).ec != std::errc();
}

} // namespace

bool io_result::would_wait() const noexcept {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINPROGRESS;
}

io_result make_socket(socket_address const& family_of, transport t) noexcept {
  int const type = t == transport::stream ? SOCK_STREAM : SOCK_DGRAM;
  return call([&] { return ::socket(raw(family_of)->sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
}

io_result bind_socket(int fd, socket_address const& a, transport t) noexcept {
  int const on = 1;
  // Else a server could not start again while connections of its predecessor linger.
  if (t == transport::stream && family_of(a) != family::unix)
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return call([&] { return ::bind(fd, raw(a), a.size); });
}

io_result listen_on(int fd, int backlog) noexcept {
  return call([&] { return ::listen(fd, backlog); });
}

io_result accept_from(int fd) noexcept {
  for (;;) {
    io_result const r = call([&] { return ::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); });
    switch (r.error) { // of a connection that has gone already; see accept(2)
    case ECONNABORTED:
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
      continue;
    default:
      return r;
    }
  }
}

io_result connect_to(int fd, socket_address const& a) noexcept {
  // Not called again: a connection whose call was interrupted is being made all the same.
  if (::connect(fd, raw(a), a.size) == 0) return {.value = 0, .error = 0};
  return {.value = -1, .error = errno == EINTR ? EINPROGRESS : errno};
}

io_result connected(int fd) noexcept {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return {.value = error == 0 ? 0 : -1, .error = error};
}

bool is_connected_to_itself(int fd) noexcept {
  socket_address own, peer;
  if (local_address(fd, own).error != 0 || peer_address(fd, peer).error != 0) return false;
  return own.size == peer.size && std::memcmp(own.bytes, peer.bytes, own.size) == 0;
}

void reset_at_close(int fd) noexcept {
  ::linger const at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

io_result receive(int fd, std::span<std::byte> into) noexcept {
  return call([&] { return receive_bytes(fd, into); });
}

io_result discard_received(int fd) noexcept {
  std::byte some[16 * 1024]; // NOLINT: nothing reads it
  return receive(fd, some);
}

io_result read_from(int fd, std::span<std::byte> into) noexcept {
  return call([&] { return ::read(fd, into.data(), into.size()); });
}

io_result receive_from(int fd, std::span<std::byte> into, socket_address& from) noexcept {
  socklen_t size = socket_address::most;
  io_result const r = call([&] { return ::recvfrom(fd, into.data(), into.size(), 0, raw(from), &size); });
  if (r.error == 0) from.size = size;
  return r;
}

io_result send(int fd, std::span<std::byte const> what, socket_address const* to) noexcept {
  return call([&] {
    return to == nullptr ? send_bytes(fd, what)
                         : ::sendto(fd, what.data(), what.size(), MSG_NOSIGNAL, raw(*to), to->size);
  });
}

io_result shut_down(int fd, ends e) noexcept {
  int const how = e == ends::receiving ? SHUT_RD : e == ends::sending ? SHUT_WR : SHUT_RDWR;
  return call([&] { return ::shutdown(fd, how); });
}

void end_stream(int fd) noexcept {
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM)
    ::shutdown(fd, SHUT_RDWR);
}

io_result set_no_delay(int fd, bool on) noexcept {
  int const value = on ? 1 : 0;
  return call([&] { return ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof value); });
}

io_result local_address(int fd, socket_address& a) noexcept {
  socklen_t size = socket_address::most;
  io_result const r = call([&] { return ::getsockname(fd, raw(a), &size); });
  if (r.error == 0) a.size = size;
  return r;
}

io_result peer_address(int fd, socket_address& a) noexcept {
  socklen_t size = socket_address::most;
  io_result const r = call([&] { return ::getpeername(fd, raw(a), &size); });
  if (r.error == 0) a.size = size;
  return r;
}

bool parse_ip(std::string const& host, std::uint16_t port, socket_address& a) noexcept {
  if (has_zero_byte(host)) return false;
  sockaddr_in v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    store(a, v4);
    return true;
  }
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) != 1) return false;
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  store(a, v6);
  return true;
}

bool make_unix_address(std::string const& path, socket_address& a) noexcept {
  sockaddr_un u{};
  if (path.empty() || path.size() >= sizeof u.sun_path) return false;
  if (path.front() != '\0' && has_zero_byte(path)) return false;
  u.sun_family = AF_UNIX;
  std::memcpy(u.sun_path, path.data(), path.size());
  // An abstract name begins with a zero byte and ends where the size says; a path ends with a zero byte.
  std::size_t const end = path.front() == '\0' ? path.size() : path.size() + 1;
  store(a, u, offsetof(sockaddr_un, sun_path) + end);
  return true;
}

family family_of(socket_address const& a) noexcept {
  if (a.size < sizeof(sa_family_t)) return family::none;
  switch (raw(a)->sa_family) {
  case AF_INET:
    return family::v4;
  case AF_INET6:
    return family::v6;
  case AF_UNIX:
    return family::unix;
  default:
    return family::none;
  }
}

std::string host_of(socket_address const& a) {
  char text[INET6_ADDRSTRLEN] = {};
  switch (family_of(a)) {
  case family::v4: {
    auto const v4 = as<sockaddr_in>(a);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return text;
  }
  case family::v6: {
    auto const v6 = as<sockaddr_in6>(a);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
    return text;
  }
  case family::unix: {
    auto const u = as<sockaddr_un>(a);
    std::size_t const after = a.size - std::min<std::size_t>(a.size, offsetof(sockaddr_un, sun_path));
    std::size_t const size = std::min(after, sizeof u.sun_path);
    if (size != 0 && u.sun_path[0] == '\0') return {u.sun_path, size};
    return {u.sun_path, ::strnlen(u.sun_path, size)};
  }
  case family::none:
    break;
  }
  return {};
}

std::uint16_t port_of(socket_address const& a) noexcept {
  switch (family_of(a)) {
  case family::v4:
    return ntohs(as<sockaddr_in>(a).sin_port);
  case family::v6:
    return ntohs(as<sockaddr_in6>(a).sin6_port);
  default:
    return 0;
  }
}

std::vector<socket_address> look_up(std::string const& host, std::string const& service) {
  if (has_zero_byte(host) || has_zero_byte(service))
    throw std::invalid_argument("rubato: resolve(): a zero byte is no part of a name");
  if (is_no_port(service))
    throw std::system_error(EAI_SERVICE, resolver_category(),
                            "rubato: resolve: \"" + service + "\" is no port from 0 to 65535");
  ::addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM; // else each address comes once for each transport
  ::addrinfo* all = nullptr;
  int error = 0, reason = 0;
  do {
    error = ::getaddrinfo(host.empty() ? nullptr : host.c_str(), service.empty() ? nullptr : service.c_str(),
                          &hints, &all);
    reason = errno; // of EAI_SYSTEM; read before an allocation may change it
  } while (error == EAI_SYSTEM && reason == EINTR);
  auto const what = [&] { // not before the result has an owner: it allocates
    return "rubato: resolve the host \"" + host + "\" and the service \"" + service + "\"";
  };
  if (error == EAI_SYSTEM) throw std::system_error(reason, std::generic_category(), what());
  if (error != 0) throw std::system_error(error, resolver_category(), what());
  struct freeing {
    void operator()(::addrinfo* a) const noexcept { ::freeaddrinfo(a); }
  };
  std::unique_ptr<::addrinfo, freeing> const owner(all);
  std::vector<socket_address> found;
  for (::addrinfo const* a = all; a != nullptr; a = a->ai_next) {
    if (a->ai_addrlen > socket_address::most) continue;
    socket_address& one = found.emplace_back();
    std::memcpy(one.bytes, a->ai_addr, a->ai_addrlen);
    one.size = a->ai_addrlen;
  }
  return found;
}

int open_reserve() noexcept { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

} // namespace rubato::os
