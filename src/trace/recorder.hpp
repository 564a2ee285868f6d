// Start and stop of the trace, and the ring of each thread. docs/design/trace.md
#pragma once

#include "os/io/input_file.hpp"

#include <cstdint>
#include <string>

namespace rubato::detail {

/// Begins to record, into that path + ".rings". Throws as trace::start().
void start_recording(std::string const& path);
/// Stops, and converts what was recorded. Throws as trace::stop().
void stop_recording();
/// Throws as trace::snapshot().
void write_snapshot(std::string const& path);

/// From then on until end_watching() the trace is on for a live view: in memory, unless it is on in a file.
/// Calls nest. Throws std::system_error: there is no memory for it.
void begin_watching();
/// In the same process.
void end_watching() noexcept;
/// Another number: there are other rings to watch.
[[nodiscard]] std::uint32_t recording_session() noexcept;
/// Opens the rings of this process. Returns zero, or the error: the trace is off.
[[nodiscard]] int open_own_rings(os::input_file& into);

/// When the first pool starts: begins to record if the environment asks for it. Says on the standard error
/// output if that fails.
void record_if_asked() noexcept;

} // namespace rubato::detail
