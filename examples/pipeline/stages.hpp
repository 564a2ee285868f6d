// From a tree to its catalogue: coroutines with bounded channels between them, and a sort.
#pragma once

#include "catalogue.hpp"
#include "progress.hpp"

#include <rubato/pool.hpp>

#include <stop_token>
#include <string>

namespace pipeline {

/// Reads everything below `root` on the pool. If `stop` is requested it returns soon, with an incomplete
/// catalogue. The memory that it needs does not depend on the sizes of the files. Throws
/// std::system_error if `root` is no directory that can be opened.
catalogue take_catalogue(rubato::pool& pool, const std::string& root, unsigned readers, std::stop_token stop,
                         progress& meter);

} // namespace pipeline
