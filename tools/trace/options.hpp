// The arguments of rubato-trace.
#pragma once

#include "trace/reader/convert.hpp"

#include <rubato/live.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace rubato_trace {

enum class command { help, convert, report, live, serve };

struct options {
  command wanted = command::help;
  std::string rings; ///< the file to read
  std::string to;    ///< the file to write
  rubato::detail::convert_options how;
  rubato::live_options view;
};

struct wrong_usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline constexpr char const* usage =
    "rubato-trace convert FILE [-o OUT] [--json] [--from T] [--to T] [--last T] [--most N] [--coroutine ID]\n"
    "rubato-trace report FILE [--from T] [--to T] [--last T] [--coroutine ID]\n"
    "rubato-trace live FILE|PID [--frames N] [--width N] [--rate N]\n"
    "rubato-trace serve FILE|PID [--port N]\n"
    "\n"
    "FILE is what RUBATO_TRACE=FILE has recorded, with or without its .rings; its process may still run.\n"
    "convert writes a trace for https://ui.perfetto.dev, with --json one for chrome://tracing and "
    "speedscope.\n"
    "  -o OUT    where to; unset: FILE without .rings, with --json FILE.json\n"
    "  --most N  join brief tasks until at most N slices are left (1000000)\n"
    "report prints what was busy, which tasks are slow or too fine, why workers were idle, and what waited.\n"
    "  --from T  from so long after the start on, --to T up to then, --last T so long before the end:\n"
    "            2s, 150ms, 20us\n"
    "  --coroutine ID  where that one ran, what it awaited, how long it was queued; in a picture a track of\n"
    "            its own. ID: its address, as the report, dump() and gdb print it\n"
    "live shows what each thread does now, until the process ends; PID is a process with RUBATO_TRACE or\n"
    "RUBATO_LIVE. serve shows the same to a browser on this machine.\n"
    "  --frames N  end after N frames        --width N  columns, unset: the terminal's, or 100\n"
    "  --rate N    frames per second, at most 60; unset: 10 on a terminal, else 1\n"
    "  --port N    from 1024 on (8765)\n"
    "Exit status: 0 done, 1 FILE cannot be read or OUT not be written, 2 wrong usage.\n";

/// Throws wrong_usage.
[[nodiscard]] options parse(std::vector<std::string> const& arguments);

} // namespace rubato_trace
