#include "report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string_view>

namespace tail {
namespace {

constexpr std::array shares{0.5, 0.9, 0.95, 0.99, 0.999, 1.0};
constexpr std::array names{"p50", "p90", "p95", "p99", "p99.9", "max"};

template<class... Values>
std::string print(const char* format, Values... values) {
  std::string text(256, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), format, values...)));
  return text;
}

} // namespace

std::string table(const std::vector<result>& results) {
  std::string text = print("%-20s", "latency in ms");
  for (const char* name : names) text += print(" %8s", name);
  text += "  copies/call  CPU ms/call\n";
  for (const auto& r : results) {
    text += print("%-20s", r.name.c_str());
    for (const double share : shares) text += print(" %8.2f", r.quantile(share));
    text += print("  %11.4f  %11.3f\n", r.copies, r.cpu_milliseconds);
  }
  return text;
}

std::string histogram(const std::vector<result>& results) {
  constexpr int per_doubling = 8;
  constexpr std::array<std::string_view, 9> marks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double least = 1e9, most = 0;
  for (const auto& r : results) {
    if (r.milliseconds.empty()) continue;
    least = std::min(least, r.milliseconds.front());
    most = std::max(most, r.quantile(0.9999));
  }
  if (most == 0) return {};
  const int first = static_cast<int>(std::floor(std::log2(least)));
  const int last = static_cast<int>(std::ceil(std::log2(most)));
  const int columns = std::max(1, (last - first) * per_doubling);

  std::string text = print("%-20s", "ms, logarithmic");
  for (int octave = first; octave < last; ++octave) text += print("%-*.4g", per_doubling, std::exp2(octave));
  text += print("%.4g\n", std::exp2(last));
  for (const auto& r : results) {
    std::vector<double> counts(static_cast<std::size_t>(columns));
    for (const double ms : r.milliseconds) {
      const int column = static_cast<int>((std::log2(ms) - first) * per_doubling);
      counts[static_cast<std::size_t>(std::clamp(column, 0, columns - 1))] += 1;
    }
    const double highest = std::log(1 + *std::ranges::max_element(counts));
    text += print("%-20s", r.name.c_str());
    for (const double count : counts)
      text += marks[static_cast<std::size_t>(std::ceil(std::log(1 + count) / highest * 8))];
    text += "\n";
  }
  return text;
}

std::string csv(const std::vector<result>& results) {
  std::string text = "strategy,calls,copies_per_call,cpu_ms_per_call";
  for (const char* name : names) text += print(",%s_ms", name);
  text += "\n";
  for (const auto& r : results) {
    text += print("%s,%zu,%.6f,%.6f", r.name.c_str(), r.milliseconds.size(), r.copies, r.cpu_milliseconds);
    for (const double share : shares) text += print(",%.4f", r.quantile(share));
    text += "\n";
  }
  return text;
}

} // namespace tail
