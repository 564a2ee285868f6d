// The arguments of rubato-trace.
#pragma once

#include "trace/reader/convert.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace rubato_trace {

enum class command { help, convert, report };

struct options {
  command wanted = command::help;
  std::string rings; ///< the file to read
  std::string to;    ///< the file to write
  rubato::detail::convert_options how;
};

struct wrong_usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr char const* usage =
    "rubato-trace convert FILE [-o OUT] [--json] [--from T] [--to T] [--last T] [--most N]\n"
    "rubato-trace report FILE [--from T] [--to T] [--last T]\n"
    "\n"
    "FILE is what RUBATO_TRACE=FILE has recorded, with or without its .rings; its process may still run.\n"
    "convert writes a trace for https://ui.perfetto.dev, with --json one for chrome://tracing and "
    "speedscope.\n"
    "  -o OUT    where to; unset: FILE without .rings, with --json FILE.json\n"
    "  --most N  join brief tasks until at most N slices are left (1000000)\n"
    "report prints what was busy, which tasks are slow or too fine, why workers were idle, and what waited.\n"
    "  --from T  from so long after the start on, --to T up to then, --last T so long before the end:\n"
    "            2s, 150ms, 20us\n"
    "Exit status: 0 done, 1 FILE cannot be read or OUT not be written, 2 wrong usage.\n";

/// Throws wrong_usage.
[[nodiscard]] options parse(std::vector<std::string> const& arguments);

} // namespace rubato_trace
