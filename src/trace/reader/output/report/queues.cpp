#include "trace/reader/output/report/queues.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace rubato::detail {

void write_queues(report_page& page) {
  struct queue {
    std::uint32_t name = 0;
    std::vector<std::int64_t> times;
    std::int64_t sum = 0;
    std::map<std::uint32_t, std::size_t> by;
  };
  std::map<std::uint32_t, queue> all;
  page.for_each_slice([&](track const& /*k*/, slice const& s) {
    if (s.queued < 0) return;
    queue& q = all[s.name];
    q.name = s.name;
    q.times.push_back(s.queued);
    q.sum += s.queued;
    ++q.by[s.by];
  });
  if (all.empty()) return;
  std::vector<queue*> rows;
  for (auto& [name, q] : all) rows.push_back(&q);
  std::ranges::sort(rows, std::ranges::greater(), &queue::sum);
  page.line("\nReady, not yet begun: how long, and what made it ready most often");
  page.line(print("%9s %10s %10s %10s  %s", "count", "p50", "p99", "max", "name; by"));
  for (std::size_t i = 0; i != std::min(rows.size(), most_waits); ++i) {
    queue& q = *rows[i];
    std::ranges::sort(q.times);
    auto const quantile = [&q](std::size_t percent) {
      return time(q.times[(q.times.size() - 1) * percent / 100]);
    };
    auto const most = std::ranges::max_element(q.by, {}, [](auto const& b) { return b.second; });
    page.line(print("%9zu %10s %10s %10s  %s; by %s", q.times.size(), quantile(50).c_str(),
                    quantile(99).c_str(), quantile(100).c_str(), page.name(q.name).c_str(),
                    page.name(most->first).c_str()));
  }
}

} // namespace rubato::detail
