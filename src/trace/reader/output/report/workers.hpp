// What the workers did with their time, by reason; what came from other threads.
#pragma once

#include "trace/reader/output/report/page.hpp"

namespace rubato::detail {

void write_workers(report_page& page);

} // namespace rubato::detail
