// The rings that a live view watches: those of its own process, whichever are in use, or those of a file.
#pragma once

#include "trace/reader/live/live_model.hpp"
#include "trace/reader/live/live_picture.hpp"

#include <cstdint>
#include <string>

namespace rubato::detail {

class live_feed {
  std::string const path_; // empty: those of this process
  live_model model_;
  std::uint32_t session_ = 0;

  void follow_own_rings();

public:
  /// While an object lives that watches its own process, the trace is on. Throws std::system_error, and
  /// std::runtime_error: the file cannot be read, or is none of rings.
  explicit live_feed(std::string path);
  live_feed(live_feed const&) = delete;
  live_feed& operator=(live_feed const&) = delete;
  ~live_feed();

  [[nodiscard]] live_picture look();
};

} // namespace rubato::detail
