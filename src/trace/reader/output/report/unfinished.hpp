// What had not ended.
#pragma once

#include "trace/reader/output/report/page.hpp"

namespace rubato::detail {

void write_unfinished(report_page& page);

} // namespace rubato::detail
