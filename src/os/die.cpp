#include "os/die.hpp"

#include <array>
#include <cerrno>
#include <exception>
#include <sys/uio.h>
#include <unistd.h>

namespace rubato::os {

void die(std::string_view message) noexcept {
  static constexpr std::string_view before = "rubato: ";
  static constexpr std::string_view after = "\n";
  auto const piece = [](std::string_view text) {
    return iovec{const_cast<char*>(text.data()), text.size()}; // writev() only reads
  };
  std::array const pieces{piece(before), piece(message), piece(after)};
  // One call, so that the line of another dying thread cannot come in between.
  while (::writev(STDERR_FILENO, pieces.data(), static_cast<int>(pieces.size())) < 0 && errno == EINTR) {
  }
  std::terminate();
}

} // namespace rubato::os
