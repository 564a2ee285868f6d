// Runs commands as child processes, without a thread that waits for them.
#pragma once

#include <rubato/task.hpp>

#include <string>

namespace build {

struct command_end {
  int status = 0;     ///< of the shell; 128 plus the signal if one ended it
  std::string output; ///< of both streams, in the order in which it came
};

/// Yields when the shell that runs the commands has ended; the first that fails ends it. A stop of the task
/// ends the shell and all processes that it has started: first SIGTERM, so that they can remove what is half
/// written, and after two seconds SIGKILL. Throws std::system_error if the system refuses a process.
rubato::task<command_end> run_commands(const std::string& commands);

} // namespace build
