// Whether the machine has a loopback interface that is up: a container without a network may have none.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace rubato_test {

inline bool has_loopback() {
  int const fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(9);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool const reached = ::connect(fd, reinterpret_cast<sockaddr const*>(&a), sizeof a) == 0; // sends nothing
  ::close(fd);
  return reached;
}

} // namespace rubato_test
