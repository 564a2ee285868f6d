// The tables of a report, one in each file, in their order. A table without rows is left out.
#pragma once

#include "trace/reader/output/report/page.hpp"

namespace rubato::detail {

void write_head(report_page& page);
void write_names(report_page& page);
void write_grain(report_page& page);
void write_workers(report_page& page);
void write_unseated(report_page& page);
void write_off_cpu(report_page& page);
void write_queues(report_page& page);
void write_waits(report_page& page);
void write_blocked(report_page& page);
void write_resumed(report_page& page);
void write_unfinished(report_page& page);

} // namespace rubato::detail
