#include "options.hpp"

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace rubato_trace {

namespace {

constexpr std::string_view ending = ".rings";

std::chrono::nanoseconds duration(std::string_view text) {
  double n = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  std::string_view const unit = text.substr(static_cast<std::size_t>(end - text.data()));
  double const scale = unit == "s" ? 1e9 : unit == "ms" ? 1e6 : unit == "us" ? 1e3 : unit == "ns" ? 1 : 0;
  if (error != std::errc() || scale == 0 || n < 0 || n * scale > 9e18)
    throw wrong_usage("no time such as 2s, 150ms or 20us: " + std::string(text));
  return std::chrono::nanoseconds(static_cast<std::int64_t>(n * scale));
}

std::size_t number(std::string_view text) {
  std::size_t n = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n == 0)
    throw wrong_usage("no number from 1 on: " + std::string(text));
  return n;
}

std::string without_ending(std::string const& file) {
  return file.ends_with(ending) ? file.substr(0, file.size() - ending.size()) : file;
}

} // namespace

options parse(std::vector<std::string> const& arguments) {
  options asked;
  if (arguments.empty()) throw wrong_usage("convert or report?");
  if (arguments[0] == "--help" || arguments[0] == "-h" || arguments[0] == "help") return asked;
  if (arguments[0] != "convert" && arguments[0] != "report")
    throw wrong_usage("unknown command: " + arguments[0]);
  asked.wanted = arguments[0] == "convert" ? command::convert : command::report;
  std::string file;
  for (std::size_t i = 1; i != arguments.size(); ++i) {
    std::string const& a = arguments[i];
    auto const value = [&]() -> std::string const& {
      if (i + 1 == arguments.size()) throw wrong_usage(a + " needs a value");
      return arguments[++i];
    };
    bool const converts = asked.wanted == command::convert;
    if (a == "--help" || a == "-h") return {};
    if (converts && a == "-o")
      asked.to = value();
    else if (converts && a == "--json")
      asked.how.json = true;
    else if (a == "--from")
      asked.how.from = duration(value());
    else if (a == "--to")
      asked.how.to = duration(value());
    else if (a == "--last")
      asked.how.last = duration(value());
    else if (converts && a == "--most")
      asked.how.most = number(value());
    else if (a.starts_with('-'))
      throw wrong_usage("unknown option: " + a);
    else if (file.empty())
      file = a;
    else
      throw wrong_usage("one file at a time: " + a);
  }
  if (file.empty()) throw wrong_usage("which file?");
  std::string const base = without_ending(file);
  bool const beside = !file.ends_with(ending) && std::filesystem::exists(file + std::string(ending));
  asked.rings = beside ? file + std::string(ending) : file;
  if (asked.to.empty()) asked.to = asked.how.json ? base + ".json" : base;
  if (asked.wanted == command::convert && asked.to == asked.rings)
    throw wrong_usage("FILE would be overwritten: say where to, by -o OUT");
  return asked;
}

} // namespace rubato_trace
