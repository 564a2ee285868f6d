// Coroutines that changed threads.
#pragma once

#include "trace/reader/output/report/page.hpp"

namespace rubato::detail {

void write_resumed(report_page& page);

} // namespace rubato::detail
