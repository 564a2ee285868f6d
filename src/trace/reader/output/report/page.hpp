// What the tables of a report share.
#pragma once

#include "trace/reader/timeline/timeline.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rubato::detail {

constexpr std::size_t most_rows = 20, most_waits = 10; // of a table

// NOLINTNEXTLINE(cert-dcl50-cpp): printf checks its arguments
[[gnu::format(printf, 1, 2)]] std::string print(char const* format, ...);
/// A time, or a distance, in the unit that suits it.
[[nodiscard]] std::string time(std::int64_t ns);
/// In percent.
[[nodiscard]] double share(std::int64_t part, std::int64_t all) noexcept;
/// A name, so that it leaves room for the rest of a line.
[[nodiscard]] std::string shortened(std::string_view name);

struct report_page {
  timeline const& t;
  std::string out;
  std::int64_t busy = 0; ///< of all threads

  explicit report_page(timeline const& of);
  /// Not all of the recording is looked at.
  [[nodiscard]] bool is_part() const noexcept;
  [[nodiscard]] std::string name(std::uint32_t number) const { return shortened(t.names[number]); }
  void line(std::string const& text) { out += text + '\n'; }
  /// f(track, slice)
  template<class F>
  void for_each_slice(F f) const {
    for (track const& k : t.tracks)
      for (slice const& s : k.slices) f(k, s);
  }
};

} // namespace rubato::detail
