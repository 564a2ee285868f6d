// What GET /stats tells.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace savegame {

struct statistics {
  using count = std::atomic<std::uint64_t>;
  count connections{0}; ///< now
  count accepted{0};
  count loads{0};     ///< that were answered with a profile
  count saves{0};     ///< that were acknowledged
  count refused{0};   ///< requests answered with 4xx
  count failed{0};    ///< requests answered with 5xx
  count abandoned{0}; ///< connections that ended, or were ended, within a request

  void count_answer(int status) {
    if (status >= 500)
      ++failed;
    else if (status >= 400)
      ++refused;
  }
  std::string text() const {
    std::string all;
    const auto add = [&](const char* name, const count& c) {
      all.append(name).append("=").append(std::to_string(c.load())).append("\n");
    };
    add("connections", connections);
    add("accepted", accepted);
    add("loads", loads);
    add("saves", saves);
    add("refused", refused);
    add("failed", failed);
    add("abandoned", abandoned);
    return all;
  }
};

} // namespace savegame
