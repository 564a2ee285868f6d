#include "trace/reader/output/report/page.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <limits>

namespace rubato::detail {

namespace {

constexpr std::size_t widest_name = 60;

} // namespace

std::string print(char const* format, ...) {
  std::array<char, 400> text;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

std::string time(std::int64_t ns) {
  double const n = static_cast<double>(ns);
  if (ns < 10'000) return print("%lld ns", static_cast<long long>(ns));
  if (ns < 10'000'000) return print("%.1f us", n / 1e3);
  if (ns < 10'000'000'000) return print("%.1f ms", n / 1e6);
  return print("%.1f s", n / 1e9);
}

double share(std::int64_t part, std::int64_t all) noexcept {
  return all > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0;
}

std::string shortened(std::string_view name) {
  if (name.empty()) return "(no name)";
  if (name.size() <= widest_name) return std::string(name);
  return std::string(name.substr(0, widest_name - 3)) + "...";
}

bool report_page::is_part() const noexcept {
  return t.part.from > 0 || t.part.to < std::numeric_limits<std::int64_t>::max();
}

report_page::report_page(timeline const& of)
    : t(of) {
  for (track const& k : t.tracks) busy += k.busy;
}

} // namespace rubato::detail
