// From a file of rings to a trace for a viewer, or to a report.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace rubato::detail {

struct convert_options {
  bool json = false;            ///< else in Perfetto's format
  std::size_t most = 1'000'000; ///< slices, each of which is two packets: brief ones are joined beyond that
  // Since the start of the trace; nothing: all.
  std::optional<std::chrono::nanoseconds> from{}, to{};
  std::optional<std::chrono::nanoseconds> last{}; ///< so much before the end
  std::uint64_t coroutine = 0; ///< the address of one, which has a track of its own, or the report; 0: none
};

/// Reads `rings` and writes `to`. Returns warnings, a line each, or nothing. Throws std::runtime_error
/// (std::system_error if `to` cannot be written).
std::string convert_rings(std::string const& rings, std::string const& to, convert_options const& options);
/// The report of a file of rings, warnings first. Throws std::runtime_error.
[[nodiscard]] std::string report_of_rings(std::string const& rings, convert_options const& options = {});

} // namespace rubato::detail
