#include "chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace tail {
namespace {

constexpr double width = 720, height = 420, left = 64, right = 176, top = 24, bottom = 48;

constexpr std::array colours{"#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2",
                             "#97bbf5", "#9c6b4e", "#9498a0", "#1b3a6b", "#8a5a00", "#7a1f12", "#1d5c50"};

const char* colour(std::size_t index) { return colours[index % colours.size()]; }

template<class... Values>
std::string print(const char* format, Values... values) {
  std::string text(512, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), format, values...)));
  return text;
}

/// Where a value is drawn.
class axis {
  double first_, last_, from_, to_;
  bool logarithmic_;

public:
  axis(double first, double last, double from, double to, bool logarithmic)
      : first_(logarithmic ? std::log10(first) : first)
      , last_(logarithmic ? std::log10(last) : last)
      , from_(from)
      , to_(to)
      , logarithmic_(logarithmic) {}
  double operator()(double value) const {
    const double at = logarithmic_ ? std::log10(value) : value;
    return from_ + (at - first_) / (last_ - first_) * (to_ - from_);
  }
};

axis across(double first, double last, bool logarithmic) {
  return {first, last, left, width - right, logarithmic};
}
axis upwards(double first, double last, bool logarithmic) {
  return {first, last, height - bottom, top, logarithmic};
}

std::string begin(const char* below, const char* beside) {
  return print("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" "
               "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
               width, height) +
         print("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%s</text>\n", (left + width - right) / 2,
               height - 8, below) +
         print("<text transform=\"translate(14 %g) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
               (top + height - bottom) / 2, beside);
}

std::string vertical_line(double x, const std::string& label) {
  return print("<path d=\"M%.1f %gV%g\" stroke=\"#ddd\"/>\n", x, top, height - bottom) +
         print("<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%s</text>\n", x, height - bottom + 16,
               label.c_str());
}

std::string horizontal_line(double y, const std::string& label) {
  return print("<path d=\"M%g %.1fH%g\" stroke=\"#ddd\"/>\n", left, y, width - right) +
         print("<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left - 6, y + 4, label.c_str());
}

std::string legend(std::size_t index, const std::string& name) {
  const double y = top + 10 + 18 * static_cast<double>(index);
  return print("<path d=\"M%g %gh18\" stroke=\"%s\" stroke-width=\"3\"/>\n", width - right + 12, y - 4,
               colour(index)) +
         print("<text x=\"%g\" y=\"%g\">%s</text>\n", width - right + 36, y, name.c_str());
}

/// Ticks at 1, 2, 5, 10 and so on within a range.
std::vector<double> round_numbers(double first, double last) {
  std::vector<double> all;
  for (double decade = std::pow(10, std::floor(std::log10(first))); decade <= last; decade *= 10)
    for (const double factor : {1.0, 2.0, 5.0})
      if (decade * factor >= first && decade * factor <= last) all.push_back(decade * factor);
  return all;
}

} // namespace

std::string distribution_chart(const std::vector<result>& results) {
  double least = 1e9, most = 0, rarest = 1;
  for (const auto& r : results) {
    if (r.milliseconds.empty()) continue;
    least = std::min(least, r.milliseconds.front());
    most = std::max(most, r.milliseconds.back());
    rarest = std::min(rarest, 1 / static_cast<double>(r.milliseconds.size()));
  }
  if (most <= 0) return {};
  most = std::max(most, least * 1.01);
  rarest = std::min(rarest, 0.1);
  const axis x = across(least, most, true), y = upwards(rarest, 1, true);
  std::string text = begin("latency of a call in ms", "share of the calls that took longer");
  for (const double tick : round_numbers(least, most)) text += vertical_line(x(tick), print("%g", tick));
  for (double share = 1; share >= rarest; share /= 10)
    text += horizontal_line(y(share), print("%g%%", share * 100));
  for (std::size_t i = 0; i != results.size(); ++i) {
    const auto& all = results[i].milliseconds;
    if (all.empty()) continue;
    const auto size = static_cast<double>(all.size());
    text += print("<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"M%.1f %.1f", colour(i),
                  x(all.front()), y(1));
    constexpr double step = 0.97; // between two points of the line, as shares
    for (double slower = step; slower * size >= 1; slower *= step)
      text += print("L%.1f %.1f", x(results[i].quantile(1 - slower)), y(slower));
    text += "\"/>\n" + legend(i, results[i].name);
  }
  return text + "</svg>\n";
}

std::string work_chart(const std::vector<result>& results) {
  double most_work = 0.1, most = 0;
  for (const auto& r : results) {
    most_work = std::max(most_work, r.copies - 1);
    most = std::max(most, r.quantile(0.999));
  }
  if (most <= 0) return {};
  const double least_work = 0.001; // what is below stands at the edge
  const axis x = across(least_work, most_work * 1.2, true), y = upwards(0, most * 1.1, false);
  std::string text = begin("extra copies per call", "p99.9 in ms");
  for (const double tick : round_numbers(least_work, most_work * 1.2))
    text += vertical_line(x(tick), print(tick > least_work ? "%g%%" : "0-%g%%", tick * 100));
  double unit = 1;
  for (const double tick : round_numbers(1, most)) // at most eight lines, at round numbers
    if (unit * 8 < most) unit = tick;
  for (double tick = 0; tick <= most * 1.1; tick += unit) text += horizontal_line(y(tick), print("%g", tick));
  for (std::size_t i = 0; i != results.size(); ++i) {
    const auto& r = results[i];
    text += print("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\"/>\n",
                  x(std::max(r.copies - 1, least_work)), y(r.quantile(0.999)), colour(i));
    text += legend(i, r.name);
  }
  return text + "</svg>\n";
}

} // namespace tail
