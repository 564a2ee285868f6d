// The options of the command line, and the limits that follow from them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace savegame {

enum class scheduler { rubato, updater, threads };

struct options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  std::string redis = "127.0.0.1:6379"; ///< an address with a port, or the path of a Unix socket
  scheduler runs_on = scheduler::rubato;
  unsigned workers = 0;
  std::chrono::milliseconds period{100};         ///< of the updater
  std::chrono::seconds deadline{5};              ///< for all the work of a request between receipt and answer
  std::chrono::milliseconds time_to_unlock{500}; ///< after the deadline
  std::chrono::seconds client_deadline{10};      ///< for a client to send a request, and to take the answer
  std::chrono::seconds idle{60};                 ///< for a client to begin its next request
  std::size_t connections = 20'000;              ///< of clients, at a time
  std::size_t largest_body = 1 << 20;            ///< of a request
  std::size_t largest_profile = 4 << 20;         ///< inflated

  /// A lock outlives every request that may hold it: it has gone by itself if its owner could not unlock.
  std::chrono::milliseconds lock_life() const { return 2 * deadline; }
  /// What a connection gets to finish its request once the server ends.
  std::chrono::milliseconds grace() const { return deadline + std::chrono::seconds(1); }
};

/// Reads the command line. Returns nothing if it asks for help or is wrong: then the text has been printed,
/// and the program ends with `status`.
std::optional<options> parse_options(int argc, const char* const* argv, int& status);

} // namespace savegame
