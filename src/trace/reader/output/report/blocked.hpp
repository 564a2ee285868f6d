// Tasks that blocked their threads in the kernel.
#pragma once

#include "trace/reader/output/report/page.hpp"

namespace rubato::detail {

void write_blocked(report_page& page);

} // namespace rubato::detail
