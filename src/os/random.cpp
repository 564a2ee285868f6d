#include "os/random.hpp"

#include <cerrno>
#include <sys/random.h>
#include <system_error>

namespace rubato::os {

void fill_with_random(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    ssize_t const n = ::getrandom(bytes.data(), bytes.size(), 0);
    if (n < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "rubato: no random numbers");
    if (n > 0) bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

} // namespace rubato::os
