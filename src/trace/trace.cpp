#include "rubato/trace.hpp"

#include "trace/recorder.hpp"

namespace rubato::trace {

void start(std::string const& path) { detail::start_recording(path); }
void stop() { detail::stop_recording(); }
void snapshot(std::string const& path) { detail::write_snapshot(path); }

} // namespace rubato::trace
