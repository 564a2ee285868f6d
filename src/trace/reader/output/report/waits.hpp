// What waited for what.
#pragma once

#include "trace/reader/output/report/page.hpp"

namespace rubato::detail {

void write_waits(report_page& page);

} // namespace rubato::detail
