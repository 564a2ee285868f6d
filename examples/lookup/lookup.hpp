// Names of hosts become addresses, by c-ares: a C library that knows nothing of Rubato. It says which
// descriptors it waits for, and a coroutine waits for them in its place.
#pragma once

#include <rubato/rubato.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace lookup {

struct settings {
  std::string servers; ///< "127.0.0.1:53,[::1]:53"; empty: those of the system, and its file of hosts
  std::chrono::milliseconds timeout{2000}; ///< for the first answer of a server; longer at each repetition
  int tries = 3;                           ///< of each server
};

struct answer {
  std::string name;
  std::vector<rubato::address> addresses;
  std::string error; ///< why there are none
};

/// Asks for all names at the same time; the answers are in the order of the names. Throws std::runtime_error
/// if the settings are wrong, and rubato::cancelled if the task is stopped.
rubato::task<std::vector<answer>> look_up(std::vector<std::string> names, settings s);

} // namespace lookup
