#include "trace/reader/live/live_feed.hpp"

#include "trace/recorder.hpp"

#include <system_error>
#include <utility>

namespace rubato::detail {

live_feed::live_feed(std::string path)
    : path_(std::move(path)) {
  if (path_.empty()) {
    begin_watching();
    return;
  }
  os::input_file file;
  if (int const error = file.open(path_.c_str()); error != 0)
    throw std::system_error(error, std::generic_category(), "rubato: " + path_);
  model_.open(std::move(file), path_);
}

live_feed::~live_feed() {
  if (path_.empty()) end_watching();
}

/// A trace to a file begins or ends: there are other rings.
void live_feed::follow_own_rings() {
  std::uint32_t const session = recording_session();
  if (session == session_) return;
  model_.close();
  os::input_file file;
  if (open_own_rings(file) != 0)
    return; // the trace is off, or no descriptor is free: the next look asks again
  session_ = session;
  model_.open(std::move(file), "the rings of this process");
}

live_picture live_feed::look() {
  if (path_.empty()) follow_own_rings();
  return model_.look();
}

} // namespace rubato::detail
