// How long tasks were ready before they began.
#pragma once

#include "trace/reader/output/report/page.hpp"

namespace rubato::detail {

void write_queues(report_page& page);

} // namespace rubato::detail
