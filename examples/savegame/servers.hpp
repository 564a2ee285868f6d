// The server on each of the schedulers: accepts connections until SIGINT or SIGTERM, then ends in order.
#pragma once

#include "options.hpp"

namespace savegame {

/// Both throw std::system_error, std::invalid_argument: the address.
void run_rubato(const options& asked);
/// The updater, and a thread per connection.
void run_baseline(const options& asked);

} // namespace savegame
