// How long tasks are, and whether they are too short to be worth their queuing.
#pragma once

#include "trace/reader/output/report/page.hpp"

namespace rubato::detail {

void write_grain(report_page& page);

} // namespace rubato::detail
