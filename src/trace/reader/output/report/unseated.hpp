// Threads that came back from a wait and found no seat free.
#pragma once

#include "trace/reader/output/report/page.hpp"

namespace rubato::detail {

void write_unseated(report_page& page);

} // namespace rubato::detail
