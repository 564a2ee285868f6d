// What the tests of the trace share.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "rubato/trace.hpp"
#include "trace/reader/file/recording.hpp"

namespace rubato_test {

/// A path for a trace; its files are removed at the end.
class trace_path {
  std::filesystem::path const folder_;

public:
  trace_path()
      : folder_([] {
        std::string name = std::filesystem::temp_directory_path() / "rubato-trace-XXXXXX";
        EXPECT_NE(::mkdtemp(name.data()), nullptr);
        return name;
      }()) {}
  trace_path(trace_path const&) = delete;
  ~trace_path() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  [[nodiscard]] std::string get() const { return folder_ / "t"; }
  [[nodiscard]] std::string rings() const { return get() + ".rings"; }
  [[nodiscard]] std::filesystem::path const& folder() const { return folder_; }
};

/// While it lives, the trace is on.
struct trace_on {
  explicit trace_on(trace_path const& p) { rubato::trace::start(p.get()); }
  trace_on(trace_on const&) = delete;
  ~trace_on() { rubato::trace::stop(); }
};

[[nodiscard]] inline std::size_t events_in(rubato::detail::recording const& r) {
  std::size_t n = 0;
  for (auto const& ring : r.rings) n += ring.events.size();
  return n;
}

[[nodiscard]] inline std::size_t count_of(rubato::detail::recording const& r, rubato::detail::event_kind k) {
  std::size_t n = 0;
  for (auto const& ring : r.rings)
    for (auto const& e : ring.events) n += e.kind() == k ? 1 : 0;
  return n;
}

} // namespace rubato_test
