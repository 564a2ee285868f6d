#include "os/io/poll.hpp"

namespace rubato::os {

void wait_for_any(std::span<polled> of, int milliseconds) noexcept {
  if (::poll(of.data(), of.size(), milliseconds) <= 0)
    for (polled& p : of) p.revents = 0;
}

} // namespace rubato::os
