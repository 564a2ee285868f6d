// Start and stop of the trace, and the ring of each thread. docs/design/trace.md
#pragma once

#include <string>

namespace rubato::detail {

/// Begins to record, into that path + ".rings". Throws as trace::start().
void start_recording(std::string const& path);
/// Stops, and converts what was recorded. Throws as trace::stop().
void stop_recording();
/// Throws as trace::snapshot().
void write_snapshot(std::string const& path);

/// When the first pool starts: begins to record if the environment asks for it. Says on the standard error
/// output if that fails.
void record_if_asked() noexcept;

} // namespace rubato::detail
