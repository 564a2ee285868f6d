#include "rubato/detail/base/std_layout.hpp"

namespace rubato::detail {

void RUBATO_STD_LAYOUT() noexcept {}

} // namespace rubato::detail
