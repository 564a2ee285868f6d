// Threads that were busy and did not run: what the kernel has counted.
#pragma once

#include "trace/reader/output/report/page.hpp"

namespace rubato::detail {

void write_off_cpu(report_page& page);

} // namespace rubato::detail
