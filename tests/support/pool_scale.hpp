// How much the long tests of this folder do.
#pragma once

#include "support/scale.hpp"

namespace pool_test {

using rubato_test::under_tsan;

/// rubato_test::scaled for rounds that are counted in unsigned.
inline unsigned scaled(unsigned rounds) { return static_cast<unsigned>(rubato_test::scaled(rounds)); }

} // namespace pool_test
