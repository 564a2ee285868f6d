// Tasks by name: how many, how long, the longest.
#pragma once

#include "trace/reader/output/report/page.hpp"

namespace rubato::detail {

void write_names(report_page& page);

} // namespace rubato::detail
