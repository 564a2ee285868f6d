#include "rubato/version.hpp"

namespace rubato {

version_number version() noexcept { return header_version; }

} // namespace rubato
