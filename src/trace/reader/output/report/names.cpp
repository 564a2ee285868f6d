#include "trace/reader/output/report/names.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace rubato::detail {

namespace {

/// All instances of one name.
struct by_name {
  std::uint32_t name = 0;
  std::vector<std::int64_t> lengths;
  std::int64_t self = 0;
  slice const* longest = nullptr;
  track const* longest_on = nullptr;
};

} // namespace

void write_names(report_page& page) {
  std::map<std::uint32_t, by_name> all;
  page.for_each_slice([&](track const& k, slice const& s) {
    if (!is_activity(s.kind)) return;
    by_name& n = all[s.name];
    n.name = s.name;
    n.lengths.push_back(s.length() - s.waited);
    n.self += s.self();
    if (n.longest == nullptr || s.length() > n.longest->length()) {
      n.longest = &s;
      n.longest_on = &k;
    }
  });
  std::vector<by_name*> rows;
  for (auto& [name, n] : all) rows.push_back(&n);
  std::ranges::sort(rows, std::ranges::greater(), &by_name::self);
  page.line("\nBy name, without waits; self: without what ran inside");
  page.line(print("%9s %6s %10s %10s %10s  %s", "count", "self", "p50", "p99", "max", "name; the longest"));
  for (std::size_t i = 0; i != std::min(rows.size(), most_rows); ++i) {
    by_name& n = *rows[i];
    std::ranges::sort(n.lengths);
    auto const quantile = [&n](std::size_t percent) {
      return time(n.lengths[(n.lengths.size() - 1) * percent / 100]);
    };
    page.line(print("%9zu %5.1f%% %10s %10s %10s  %s; at %s on %s (thread %llu)", n.lengths.size(),
                    share(n.self, page.busy), quantile(50).c_str(), quantile(99).c_str(),
                    quantile(100).c_str(), page.name(n.name).c_str(), time(n.longest->begin).c_str(),
                    n.longest_on->name.c_str(), static_cast<unsigned long long>(n.longest_on->thread)));
  }
}

} // namespace rubato::detail
