// The same save from one of several `savegame` servers, by HTTP.
#pragma once

#include "target.hpp"

#include <memory>
#include <string>
#include <vector>

namespace tail {

/// Copy k of call n asks replica n + k (modulo their number), so each replica is asked first equally often.
/// Servers are "address:port". Throws std::invalid_argument if one is not.
std::unique_ptr<target> make_replicas(const std::vector<std::string>& servers, const std::string& user);

} // namespace tail
